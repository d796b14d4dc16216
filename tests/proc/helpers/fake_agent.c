/*
 * A Lisp that is none: it speaks the agent protocol (docs/agent-protocol.md) and does what it is told,
 * misbehaviour included.
 *
 * Called as a Lisp is called to build a core, it writes one; else it serves descriptor 3. The environment
 * names what goes wrong:
 *   FAKE_BUILD      fail | die | exit-without-core | hang
 *                   go-on: it prints a line each 50 ms, 10 times
 *                   starve: it wants to run and does not get to, for 400 ms
 *   FAKE_START      no-hello | garbage | close | exit
 *   FAKE_USER_INIT  exit | threads | print | notice | hang
 *   FAKE_FORK       refuse | die
 *   FAKE_FREEZE     refuse: a session's process makes no copies; the zygote does
 *                   die:N: a session's process that has seen N evaluations ends instead of making one
 *                   slow:N: a copy of a process that has seen N evaluations takes 400 ms,
 *                   times CL_MCP_TEST_STRETCH; late:N: the process is that late to tell of it
 *                   doomed:N: one that has seen N evaluations ends after its health check
 *   FAKE_TOOK       microseconds that a copy says to have taken
 *   FAKE_COPY       die | close | no-hello | garbage; with ":N" only the first N copies do
 *
 * The code that it "evaluates" is a list of commands, separated by ';':
 *   print TEXT, complain TEXT, flood BYTES        write to descriptor 1, 2, 1
 *   progress TEXT                                 send an event
 *   value TEXT, count, pid, refuse, error TYPE    reply; count: how many evaluations this process has seen
 *   wait N, finish N                              wait for the Nth interrupt, or for ever if N is 0, then
 *                                                 reply :error :kind :interrupt, or :ok
 *   goes-on TYPE                                  reply an error after which invoke-restart continues
 *   frames MODE, abort MODE, resume MODE          how the next of these operations (resume: invoke-restart)
 *                                                 will go: ok, error, wait, deaf, die
 *   exit N, die N, close, garbage, stray, twice   leave; by a signal; and so on
 *   child                                         start a program that hangs in a session of its own and
 *                                                 reply its pid
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "wire/frame.h"
#include "wire/sexp.h"

#define CHANNEL 3

static int copies, evaluations, token;
static int64_t asker; /* the request that waits for input */
static bool is_zygote = true;
static char frames_mode[16] = "ok", abort_mode[16] = "ok", resume_mode[16] = "ok";
static int received[3], received_count;

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n <= 0)
            _exit(90);
        bytes += n;
        len -= (size_t)n;
    }
}

static void send_payload(const char *payload)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    size_t at = frame_begin(&frame_agent, &b);
    strbuf_adds(&b, payload);
    frame_end(&frame_agent, &b, at);
    write_all(CHANNEL, b.bytes, b.len);
    strbuf_fini(&b);
}

static _Noreturn void hang(void)
{
    for (;;)
        pause();
}

static void say_hello(void)
{
    char text[200];
    snprintf(text, sizeof text,
             "(0 :hello :pid %d :implementation \"FAKE\" :version \"1.0\" :features (:fork))", (int)getpid());
    send_payload(text);
}

/* Wait for ${count} interrupts of the operation under way; 0: for ever. */
static void wait_for_interrupts(int count)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (count == 0)
        hang();
    while (count > 0)
        if (sigwaitinfo(&set, &info) == SIGURG && info.si_value.sival_int == token)
            count--;
}

static void reply_ok(int64_t id, const char *value, size_t len)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    sexp_write_open(&b);
    sexp_write_integer(&b, id);
    sexp_write_symbol(&b, "ok");
    sexp_write_symbol(&b, "values");
    sexp_write_open(&b);
    sexp_write_string(&b, value, len);
    sexp_write_close(&b);
    sexp_write_symbol(&b, "package");
    sexp_write_string(&b, "FAKE-USER", 9);
    sexp_write_close(&b);
    send_payload(strbuf_string(&b));
    strbuf_fini(&b);
}

static void reply_number(int64_t id, long number)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld", number);
    reply_ok(id, text, (size_t)n);
}

static void reply_error_with(int64_t id, const char *type, const char *kind, const char *more)
{
    char text[400];
    snprintf(text, sizeof text,
             "(%lld :error :type \"%.60s\" :message \"The fake signals.\" :kind :%s :frames ((\"(INNER 1)\" "
             "nil) (\"(EVAL (INNER 1))\" nil)) :total-frames 2"
             " :restarts ((\"ABORT\" \"Return to top level.\" nil))%s)",
             (long long)id, type, kind, more);
    send_payload(text);
}

static void reply_error(int64_t id, const char *type, const char *kind)
{
    reply_error_with(id, type, kind, " :stands-here t");
}

/* How the look at the frames, or the unwinding, goes. False: it has been answered with an error. */
static void behave(int64_t id, char mode[16], const char *answer, const char *more)
{
    char chosen[16], text[300];
    snprintf(chosen, sizeof chosen, "%s", mode);
    snprintf(mode, 16, "ok");
    if (strcmp(chosen, "deaf") == 0)
        hang();
    if (strcmp(chosen, "die") == 0)
        _exit(66);
    if (strcmp(chosen, "wait") == 0)
        wait_for_interrupts(1);
    if (strcmp(chosen, "error") == 0 || strcmp(chosen, "wait") == 0) {
        reply_error_with(id, "SECOND-ERROR", "error", more);
        return;
    }
    snprintf(text, sizeof text, "(%lld :ok %s)", (long long)id, answer);
    send_payload(text);
}

static void start_child(int64_t id)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        close(CHANNEL);
        hang();
    }
    reply_number(id, pid);
}

static void flood(size_t bytes)
{
    static char chunk[65536];
    memset(chunk, '.', sizeof chunk);
    chunk[sizeof chunk - 1] = '\n';
    while (bytes > 0) {
        size_t n = bytes < sizeof chunk ? bytes : sizeof chunk;
        write_all(1, chunk, n);
        bytes -= n;
    }
}

static void perform(int64_t id, char *command)
{
    command += strspn(command, " ");
    char *argument = strchr(command, ' ');
    if (argument != NULL)
        *argument++ = '\0';
    else
        argument = command + strlen(command);
    int number = atoi(argument);
    char text[400];
    if (strcmp(command, "print") == 0) {
        write_all(1, argument, strlen(argument));
    } else if (strcmp(command, "complain") == 0) {
        write_all(2, argument, strlen(argument));
    } else if (strcmp(command, "flood") == 0) {
        flood((size_t)number);
    } else if (strcmp(command, "progress") == 0) {
        snprintf(text, sizeof text, "(0 :progress :message \"%.300s\")", argument);
        send_payload(text);
    } else if (strcmp(command, "value") == 0) {
        reply_ok(id, argument, strlen(argument));
    } else if (strcmp(command, "count") == 0) {
        reply_number(id, evaluations);
    } else if (strcmp(command, "pid") == 0) {
        reply_number(id, getpid());
    } else if (strcmp(command, "refuse") == 0) {
        snprintf(text, sizeof text, "(%lld :refused \"The fake does not want to.\")", (long long)id);
        send_payload(text);
    } else if (strcmp(command, "error") == 0) {
        reply_error(id, argument, "error");
    } else if (strcmp(command, "ask") == 0) {
        asker = id;
        snprintf(text, sizeof text, "(0 :input :question %d)", number);
        send_payload(text);
    } else if (strcmp(command, "goes-on") == 0) {
        reply_error_with(id, argument, "error", " :goes-on t");
    } else if (strcmp(command, "resume") == 0) {
        snprintf(resume_mode, sizeof resume_mode, "%.15s", argument);
    } else if (strcmp(command, "wait") == 0) {
        wait_for_interrupts(number);
        reply_error(id, "INTERRUPTED", "interrupt");
    } else if (strcmp(command, "finish") == 0) {
        wait_for_interrupts(number);
        reply_ok(id, "done", 4);
    } else if (strcmp(command, "frames") == 0) {
        snprintf(frames_mode, sizeof frames_mode, "%.15s", argument);
    } else if (strcmp(command, "abort") == 0) {
        snprintf(abort_mode, sizeof abort_mode, "%.15s", argument);
    } else if (strcmp(command, "exit") == 0) {
        _exit(number);
    } else if (strcmp(command, "die") == 0) {
        signal(number, SIG_DFL);
        raise(number);
        hang();
    } else if (strcmp(command, "close") == 0) {
        close(CHANNEL);
        hang();
    } else if (strcmp(command, "garbage") == 0) {
        write_all(CHANNEL, "this is no frame", 16);
        hang();
    } else if (strcmp(command, "stray") == 0) {
        /* Replies that nobody waits for. */
        reply_ok(id + 1000, "stray", 5);
        send_payload("(0 :unheard-of)");
        send_payload("(-5 :ok)");
        send_payload("nil");
    } else if (strcmp(command, "twice") == 0) {
        reply_ok(id, "first", 5);
        reply_ok(id, "second", 6);
    } else if (strcmp(command, "child") == 0) {
        start_child(id);
    } else {
        reply_error(id, "UNKNOWN-COMMAND", "error");
    }
}

static void evaluate(int64_t id, const struct sexp *message)
{
    size_t len;
    const char *code = sexp_string(sexp_get(message, 2, "code"), &len);
    char *commands = strdup(code == NULL ? "" : code), *rest = commands, *command;
    evaluations++;
    while ((command = strsep(&rest, ";")) != NULL)
        perform(id, command);
    free(commands);
}

/* "die:2" for the first two copies, "die" for all. */
static int copy_shall(const char *what)
{
    const char *setting_of_copies = setting("FAKE_COPY");
    size_t n = strlen(what);
    if (strncmp(setting_of_copies, what, n) != 0)
        return 0;
    return setting_of_copies[n] == '\0' ||
           (setting_of_copies[n] == ':' && copies <= atoi(setting_of_copies + n + 1));
}

static void become_copy(bool is_silent)
{
    static const int places[3] = {CHANNEL, 1, 2};
    int high[3];
    for (int i = 0; i < received_count; i++)
        high[i] = fcntl(received[i], F_DUPFD_CLOEXEC, 20);
    for (int i = 0; i < received_count; i++) {
        close(received[i]);
        dup2(high[i], places[i]);
        close(high[i]);
    }
    bool was_zygote = is_zygote;
    received_count = 0;
    is_zygote = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!was_zygote) {
        if (!is_silent)
            say_hello();
        return;
    }
    if (copy_shall("die"))
        _exit(7);
    if (copy_shall("close"))
        close(CHANNEL);
    if (copy_shall("close") || copy_shall("no-hello"))
        hang();
    if (copy_shall("garbage"))
        write_all(CHANNEL, "garbage of a copy", 17);
    say_hello();
}

/* "slow:2": a session's process that has seen two evaluations. */
static bool process_is(const char *what)
{
    const char *freeze = setting("FAKE_FREEZE");
    size_t n = strlen(what);
    return !is_zygote && strncmp(freeze, what, n) == 0 && evaluations == atoi(freeze + n);
}

static void delay(const char *what)
{
    const char *stretch = setting("CL_MCP_TEST_STRETCH");
    if (process_is(what))
        usleep((useconds_t)(400000 * (*stretch == '\0' ? 1 : atof(stretch))));
}

static void copy(int64_t id, bool is_silent)
{
    char text[100];
    if (is_zygote && strcmp(setting("FAKE_FORK"), "die") == 0)
        _exit(8);
    if (process_is("die:"))
        _exit(9);
    delay("slow:");
    if (strcmp(setting(is_zygote ? "FAKE_FORK" : "FAKE_FREEZE"), "refuse") == 0) {
        snprintf(text, sizeof text, "(%lld :refused \"The fake makes no copies.\")", (long long)id);
    } else {
        copies++;
        pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            become_copy(is_silent);
            return;
        }
        snprintf(text, sizeof text, "(%lld :ok :pid %d :took %d)", (long long)id, (int)pid,
                 atoi(setting("FAKE_TOOK")));
        delay("late:");
    }
    while (received_count > 0)
        close(received[--received_count]);
    send_payload(text);
}

static void warm(int64_t id, const struct sexp *message)
{
    char text[200];
    const char *how =
        sexp_string(sexp_get(message, 2, "user-init"), NULL) == NULL ? "" : setting("FAKE_USER_INIT");
    if (strcmp(how, "exit") == 0)
        _exit(5);
    if (strcmp(how, "hang") == 0)
        hang();
    if (strcmp(how, "print") == 0)
        write_all(1, "Good morning.\n", 14);
    snprintf(text, sizeof text, "(%lld :ok :notices (%s) :forkable %s)", (long long)id,
             strcmp(how, "notice") == 0 ? "\"Mind the gap.\"" : "",
             strcmp(how, "threads") == 0 ? "nil" : "t");
    send_payload(text);
}

static void serve(const struct sexp *message)
{
    char text[200];
    int64_t id = sexp_integer(sexp_nth(message, 0), 0);
    const struct sexp *what = sexp_nth(message, 1);
    token = (int)sexp_integer(sexp_get(message, 2, "token"), 0);
    if (sexp_is_symbol(what, "configure")) {
        snprintf(text, sizeof text, "(%lld :ok)", (long long)id);
        send_payload(text);
    } else if (sexp_is_symbol(what, "warm")) {
        warm(id, message);
    } else if (sexp_is_symbol(what, "fork")) {
        copy(id, !sexp_is_nil(sexp_get(message, 2, "silent")));
    } else if (sexp_is_symbol(what, "input")) {
        size_t len;
        const char *line = sexp_string(sexp_get(message, 2, "text"), &len);
        reply_ok(asker, line == NULL ? "end" : line, line == NULL ? 3 : len);
    } else if (sexp_is_symbol(what, "evaluate")) {
        evaluate(id, message);
    } else if (sexp_is_symbol(what, "probe") || sexp_is_symbol(what, "replay")) {
        snprintf(text, sizeof text, "(%lld :ok)", (long long)id);
        send_payload(text);
        if (process_is("doomed:"))
            _exit(10);
    } else if (sexp_is_symbol(what, "frames")) {
        behave(id, frames_mode,
               ":frames ((\"(INNER 1)\" nil (\"X\" \"1\")) (\"(EVAL (INNER 1))\" nil)) :total 2",
               " :settled t");
    } else if (sexp_is_symbol(what, "abort")) {
        behave(id, abort_mode, "", "");
    } else if (sexp_is_symbol(what, "invoke-restart")) {
        behave(id, resume_mode, ":values (\"went on\")", " :stands-here t");
    } else {
        snprintf(text, sizeof text, "(%lld :refused \"The fake does not know this.\")", (long long)id);
        send_payload(text);
    }
}

/* One frame, and the descriptors that come with it. The end of the channel is our end. */
static void receive(struct strbuf *in)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 3)];
    } control;
    char bytes[65536];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(CHANNEL, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0)
        _exit(0);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
        received_count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(received, CMSG_DATA(c), sizeof(int) * (size_t)received_count);
    }
    strbuf_add(in, bytes, (size_t)n);
}

/* The kernel holds up a process until the program it has begun with vfork() has ended: state 'D'. */
static void starve(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        poll(NULL, 0, 400);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static int build(const char *path)
{
    if (strcmp(setting("FAKE_BUILD"), "starve") == 0)
        starve();
    if (strcmp(setting("FAKE_BUILD"), "hang") == 0)
        hang();
    if (strcmp(setting("FAKE_BUILD"), "die") == 0) {
        write_all(2, "The fake has an illegal instruction.\n", 37);
        raise(SIGKILL);
    }
    for (int i = 0; i < 10 && strcmp(setting("FAKE_BUILD"), "go-on") == 0; i++) {
        poll(NULL, 0, 50);
        write_all(1, "a file was loaded\n", 18);
    }
    if (strcmp(setting("FAKE_BUILD"), "fail") == 0) {
        fprintf(stderr, "The fake cannot\nbuild.\n");
        return 1;
    }
    if (strcmp(setting("FAKE_BUILD"), "exit-without-core") == 0)
        return 0;
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return 2;
    fputs("a fake core\n", f);
    return fclose(f) == 0 ? 0 : 3;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return build(argv[i + 1]);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const char *start = setting("FAKE_START");
    if (strcmp(start, "exit") == 0) {
        write_all(2, "The fake does not start.\n", 25);
        return 3;
    }
    if (strcmp(start, "close") == 0)
        close(CHANNEL);
    if (strcmp(start, "close") == 0 || strcmp(start, "no-hello") == 0)
        hang();
    if (strcmp(start, "garbage") == 0)
        write_all(CHANNEL, "garbage", 7);
    if (strcmp(start, "garbage") != 0)
        say_hello();
    struct strbuf in;
    strbuf_init(&in, 0);
    for (;;) {
        struct frame_result r = frame_scan(&frame_agent, strbuf_string(&in), in.len);
        if (r.status == FRAME_MALFORMED)
            return 91;
        if (r.status == FRAME_PARTIAL) {
            receive(&in);
            continue;
        }
        struct err err;
        struct sexp_document *document = sexp_parse(r.payload, r.payload_len, &err);
        if (document == NULL)
            return 92;
        serve(sexp_root(document));
        sexp_document_free(document);
        strbuf_consume(&in, r.consumed);
    }
}
