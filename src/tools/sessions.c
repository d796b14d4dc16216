/*
 * create-session, session-info and reset-session.
 */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/user_directory.h"
#include "base/utf8.h"
#include "calls/look_up.h"
#include "join/address.h"
#include "lisp/confinement.h"
#include "lisp/zygotes.h"
#include "proc/process.h"
#include "report/section.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/records/journal.h"
#include "session/records/snapshots.h"
#include "session/sessions.h"
#include "session/store/saved.h"
#include "tools/saves.h"
#include "tools/systems.h"

#define MOST_LISTED 200
#define MOST_LISTED_FOR_PERSON 2000 /* who has them filtered */
#define MOST_PROGRAMS 20
#define MOST_SYSTEM_BYTES 1000 /* of the names in a reply; the last may be longer */
#define MEMORY_MS 20           /* for reading the memory of processes: no other call is served meanwhile */

/* The name of the system that a call has loaded, as the journal has it (systems_add_form()); NULL: it was
 * none. */
static const char *system_of(const struct journal_entry *entry, size_t *len)
{
    static const char *const calls[] = {"(asdf:load-system \"", "(ql:quickload \"", "(progn (asdf:load-asd "};
    const char *end = strrchr(entry->code, '"'), *start = end;
    if (entry->is_undone || entry->outcome != JOURNAL_OK || end == NULL ||
        end[1 + strspn(end + 1, ")")] != '\0')
        return NULL;
    while (start > entry->code && start[-1] != '"')
        start--;
    *len = (size_t)(end - start);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        size_t head = strlen(calls[i]);
        bool has_path = i == 2; /* other strings come before the name */
        if (strncmp(entry->code, calls[i], head) == 0 && (has_path || start == entry->code + head))
            return *len > 0 ? start : NULL;
    }
    return NULL;
}

static void add_systems(struct strbuf *out, const struct session *s)
{
    const struct journal_entry *entry;
    struct strbuf named = {0}; /* each between line ends, which no name has */
    strbuf_addc(&named, '\n');
    for (size_t i = 0; (entry = journal_at(session_journal(s), i)) != NULL; i++) {
        size_t len = 0;
        const char *name = system_of(entry, &len);
        if (name == NULL || out->len >= MOST_SYSTEM_BYTES)
            continue;
        char *line = strbuf_format("\n%.*s\n", (int)len, name);
        if (strstr(strbuf_string(&named), line) == NULL) {
            strbuf_adds(&named, line + 1);
            strbuf_addf(out, "%s%.*s", out->len == 0 ? "\nNo longer loaded: " : ", ", (int)len, name);
        }
        free(line);
    }
    strbuf_fini(&named);
}

static void on_reset(struct tool_call *call, const struct outcome *o)
{
    struct strbuf systems = call->text;
    call->text = (struct strbuf){0};
    strbuf_adds(&call->text,
                session_attached(o->session) != NULL
                    ? "Session reset: its errors and its history are gone, and what stood in the image was "
                      "unwound. The image is as it was, with all its definitions.\nCurrent package: CL-USER"
                    : "Session reset. All definitions cleared.\nCurrent package: CL-USER");
    strbuf_add(&call->text, systems.bytes, systems.len);
    strbuf_fini(&systems);
}

static void next_step(struct tool_call *call, struct session *s);

static void on_step(struct tool_call *call, const struct outcome *o)
{
    const char *from = arguments_string(call, "from", NULL);
    if (o->kind == OUTCOME_UNAVAILABLE) {
        strbuf_clear(&call->text);
        sessions_close_later(o->session); /* without a Lisp the new session is useless */
        if (from != NULL && call->step == 0)
            strbuf_addf(&call->text, "No copy of session %s was made: ", from);
        call_answer(call, true, "%s", o->why);
    } else if (o->kind == OUTCOME_ERROR) {
        section_end(&call->text);
        call_report(call, o);
    } else {
        strbuf_clear(&call->text);
        call->step++;
        next_step(call, o->session);
    }
}

/* The form that enters it: as it is written, or else as the reader takes it, in any case and with a colon in
 * front; a name with other characters only as it is written. */
static void add_entering(struct strbuf *code, const char *package, size_t len)
{
    const char *name = package + strspn(package, "#:");
    size_t plain =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+*/._%$&<>=!?~^@");
    if (plain > 0 && name + plain == package + len) {
        strbuf_addf(code, "(cl:setf cl:*package* (cl:or (cl:find-package \"%s\") (cl:in-package #:%s)))",
                    name, name);
    } else {
        strbuf_adds(code, "(cl:in-package");
        sexp_write_string(code, package, len);
        strbuf_addc(code, ')');
    }
}

/* The next step in a new session; ${code} describes it as the journal does. False when all steps are done. */
static bool write_step(struct tool_call *call, struct strbuf *code)
{
    json_t *system = json_array_get(json_object_get(call->arguments, "systems"), call->step);
    size_t systems = json_array_size(json_object_get(call->arguments, "systems")), len;
    const char *package = arguments_string(call, "package", &len);
    if (system != NULL) {
        systems_add_form(code, "asdf:load-system", json_string_value(system));
        call_begin_request(call, "load-system");
        call_write_text(call, "system", json_string_value(system));
    } else if (call->step == systems && package != NULL) {
        add_entering(code, package, len);
        call_begin_request(call, "evaluate");
        call_write_text(call, "code", strbuf_string(code));
    } else if (call->step == systems) {
        call_begin_request(call, "session-info"); /* a session whose Lisp cannot be started is removed */
    } else {
        return false;
    }
    return true;
}

static void add_sandbox(struct strbuf *out, const struct session *s)
{
    const struct confinement *c = session_confinement(s);
    if (c != NULL)
        strbuf_addf(out, ", sandbox %s, network %s", confinement_mode(c), confinement_network(c));
}

static void add_directory(struct strbuf *out, const char *label, const struct session *s)
{
    if (session_directory(s) != NULL)
        strbuf_addf(out, "%s%s", label, session_directory(s));
}

/* What it runs in. */
static const char *lisp_of(const struct tool_call *call, const struct session *s)
{
    return session_attached(s) == NULL ? zygotes_lisp(call->toolbox->zygotes)
           : session_image(s) != NULL  ? session_image(s)
                                       : "an image that is not joined now";
}

/* What the new session has of the one that it was copied from, and what separates the two no longer. */
static void add_source(struct tool_call *call, const struct session *s)
{
    const char *from = arguments_string(call, "from", NULL);
    if (from == NULL)
        return;
    strbuf_addf(&call->text,
                " It has the definitions, data and limits of %s, and is independent from now on.", from);
    if (session_confinement(s) != NULL)
        strbuf_addf(&call->text,
                    " In its sandbox, code of %s can still signal and trace the processes of %s; code of %s "
                    "cannot reach those of %s.",
                    from, session_name(s), session_name(s), from);
}

/* Load the systems one after the other, then enter the package, then describe the session. */
static void next_step(struct tool_call *call, struct session *s)
{
    struct strbuf code = {0};
    if (write_step(call, &code)) {
        /* The text before the reply if this step fails or is refused. */
        strbuf_addf(&call->text, "Session %s was created, but a step failed:\n", session_name(s));
        struct operation_options options = {.what = "create-session",
                                            .timeout_ms = CALL_LOADING_MS,
                                            .keeps_record = code.len > 0,
                                            .code = code.bytes,
                                            .code_len = code.len};
        call_run(call, s, &options, on_step);
    } else {
        strbuf_addf(&call->text, "Session %s created: %s, package %s", session_name(s), lisp_of(call, s),
                    session_package(s));
        add_directory(&call->text, ", directory ", s);
        add_sandbox(&call->text, s);
        strbuf_adds(&call->text, ". Pass its name as session to other tools.");
        add_source(call, s);
        call_finish(call);
    }
    strbuf_fini(&code);
}

/* Take the first step in a new session; NULL: it was not made. */
static void begin_steps(struct tool_call *call, struct session *s, const struct err *err)
{
    if (s == NULL) {
        call_answer(call, true, "%s", err->message);
        return;
    }
    call->takes_unavailable = true;
    next_step(call, s);
}

static const char *servers_directory(const struct tool_call *call)
{
    return call->toolbox->directory != NULL ? call->toolbox->directory : ".";
}

/* The real path of the argument, in ${directory}: given; NULL if it is the server's directory, or absent. */
static bool find_directory(const struct tool_call *call, char **directory, struct err *err)
{
    size_t len;
    const char *given = arguments_string(call, "directory", &len), *servers = servers_directory(call);
    *directory = NULL;
    if (given == NULL)
        return true;
    struct strbuf path = {0};
    strbuf_addf(&path, "%s%s%s", given[0] == '/' ? "" : servers, given[0] == '/' ? "" : "/", given);
    char *real = realpath(strbuf_string(&path), NULL), *own = realpath(servers, NULL);
    bool ok = real != NULL && is_directory(real) && utf8_is_valid(real, strlen(real)) && strlen(given) == len;
    if (!ok)
        err_set(err, ERR_INVALID, "%s is not a directory.", strbuf_string(&path));
    else if (own == NULL || strcmp(real, own) != 0)
        *directory = xstrdup(real);
    free(real);
    free(own);
    strbuf_fini(&path);
    return ok;
}

/* Nothing confines another process. */
static bool may_attach(const struct tool_call *call, const char *address,
                       const struct confinement *confinement, struct err *err)
{
    struct join_address parsed;
    if (address == NULL)
        return true;
    if (!call->toolbox->may_attach)
        return err_set(
            err, ERR_INVALID,
            "attach is refused over HTTP, because a client could make the server connect anywhere. An "
            "operator who wants that starts the server with --allow-attach.");
    if (confinement != NULL)
        return err_set(
            err, ERR_INVALID,
            "attach and a sandbox exclude each other: nothing confines a process that is not the server's.");
    return join_address_parse(address, &parsed, err);
}

static bool is_running(const struct session *s)
{
    struct strbuf what = {0};
    size_t waiting;
    bool is_running = session_running(s, &what, &waiting) >= 0;
    strbuf_fini(&what);
    return is_running;
}

/* The session whose state the new one begins with; NULL: none, and the call is answered. */
static struct session *find_source(struct tool_call *call, const char *from)
{
    struct session *source;
    const char *name = strcmp(from, "default") == 0 ? call->default_session : from;
    if (!call_find_session(call, name, &source))
        return NULL;
    if (source == NULL) {
        call_answer(call, true, "Nothing was evaluated in session %s yet. Create one without from.", from);
    } else if (is_running(source)) {
        call_answer(call, true,
                    "Session %s cannot be copied while code runs in it. Wait for its end, or stop it with "
                    "cancel-evaluation.",
                    from);
        return NULL;
    }
    return source;
}

static void create_from(struct tool_call *call, const char *from)
{
    struct err err;
    struct session *source = find_source(call, from);
    if (source == NULL)
        return;
    struct session *s = sessions_create(call->toolbox->sessions, arguments_string(call, "name", NULL), &err);
    if (s != NULL)
        session_branch(s, source);
    begin_steps(call, s, &err);
}

static void create_session(struct tool_call *call)
{
    const char *from = arguments_string(call, "from", NULL);
    if (arguments_boolean(call, "saved")) {
        saves_restore(call);
        return;
    }
    if (from != NULL) {
        create_from(call, from);
        return;
    }
    struct err err;
    const struct confinement *confinement;
    struct session *s = NULL;
    char *directory;
    const char *attach = arguments_string(call, "attach", NULL);
    if (find_directory(call, &directory, &err) &&
        confinements_choose(call->toolbox->confinements, arguments_string(call, "sandbox", NULL),
                            arguments_string(call, "network", NULL), directory, &confinement, &err) &&
        may_attach(call, attach, confinement, &err))
        s = sessions_create(call->toolbox->sessions, arguments_string(call, "name", NULL), &err);
    if (s != NULL)
        session_place(s, directory, confinement);
    if (s != NULL && attach != NULL)
        session_attach(s, attach, directory != NULL ? directory : servers_directory(call));
    free(directory);
    if (s != NULL)
        call_tell_loss(call, s);
    begin_steps(call, s, &err);
}

/* No call waits for a snapshot, so making one does not count as activity. */
static const char *activity(const struct session *s)
{
    const char *state = session_state_name(s);
    return strcmp(state, "copying") == 0 ? "idle" : state;
}

/* The memory of all its processes, marked as incomplete if some could not be read in time. */
static void add_memory(struct strbuf *out, const struct session_memory *m)
{
    if (m->unread == m->processes)
        strbuf_adds(out, "memory unknown");
    else
        strbuf_addf(out, "%.1f MiB%s in %zu process%s", (double)m->bytes / (1 << 20),
                    m->unread > 0 ? " or more" : "", m->processes, m->processes == 1 ? "" : "es");
}

static const char *image_of(const struct session *s)
{
    return session_image(s) != NULL ? session_image(s) : session_attached(s);
}

static void add_summary(struct strbuf *out, const struct session *s, const struct session_memory *memory)
{
    strbuf_addf(out, "%s: %s, package ", session_name(s), activity(s));
    text_add_hanging(out, session_package(s), strlen(session_package(s)), "  ");
    add_directory(out, ", directory ", s);
    if (session_pid(s) > 0)
        strbuf_addf(out, ", process %d", (int)session_pid(s));
    if (session_attached(s) != NULL)
        strbuf_addf(out, ", image %s", image_of(s));
    strbuf_addf(out, ", %s, %s", text_count(session_evaluations(s), "evaluation").text,
                text_count(session_error_count(s), "error").text);
    if (session_pid(s) > 0) {
        strbuf_adds(out, ", ");
        add_memory(out, memory);
    }
}

/* The same as data. */
static json_t *summary_data(const struct session *s, const struct session_memory *memory)
{
    json_t *data = json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", session_name(s), "state", activity(s),
                             "package", session_package(s), "evaluations", (json_int_t)session_evaluations(s),
                             "errors", (json_int_t)session_error_count(s));
    if (session_pid(s) > 0)
        json_object_set_new(data, "process", json_integer(session_pid(s)));
    if (session_attached(s) != NULL)
        json_object_set_new(data, "image", json_string(image_of(s)));
    if (memory->unread < memory->processes)
        json_object_set_new(data, "memory", json_integer((json_int_t)memory->bytes));
    return data;
}

/* Those on disk, whether they run or not. */
static void add_saves(struct strbuf *out, const struct saved_store *store)
{
    if (store == NULL)
        return;
    struct saved_names saves = saved_list(store, sessions_is_name);
    if (saves.count > 0)
        strbuf_addf(out, "\n%s (create-session with saved: true restores one):",
                    text_count(saves.count, "saved session").text);
    for (size_t i = 0; i < saves.count && i < MOST_LISTED; i++)
        strbuf_addf(out, "\n- %s, saved %s", saves.items[i].name, text_date(saves.items[i].when.tv_sec).text);
    if (saves.count > MOST_LISTED)
        strbuf_addf(out, "\n... %zu more", saves.count - MOST_LISTED);
    free(saves.items);
}

static void list_sessions(struct tool_call *call)
{
    size_t n = sessions_count(call->toolbox->sessions);
    if (n == 0)
        strbuf_addf(&call->text, "No sessions yet; the first evaluation creates the session %s.",
                    call->default_session);
    else
        strbuf_addf(&call->text, "%s:", text_count(n, "session").text);
    call->is_of_asked_length = call->options.author.kind == AUTHOR_PERSON;
    size_t shown = 0, most = call->is_of_asked_length ? MOST_LISTED_FOR_PERSON : MOST_LISTED;
    uint64_t start_ns = uv_hrtime();
    json_t *data = json_array();
    for (struct session *s = sessions_first(call->toolbox->sessions); s != NULL && shown < most;
         s = sessions_next(s), shown++) {
        strbuf_adds(&call->text, "\n- ");
        uint64_t spent_ms = (uv_hrtime() - start_ns) / 1000000;
        struct session_memory memory =
            session_memory(s, spent_ms < MEMORY_MS ? (int)(MEMORY_MS - spent_ms) : 0);
        add_summary(&call->text, s, &memory);
        if (call->options.wants_data)
            json_array_append_new(data, summary_data(s, &memory));
    }
    call->structured = call->options.wants_data
                           ? json_pack("{s:s, s:O}", "client", call->toolbox->caller.name, "sessions", data)
                           : NULL;
    json_decref(data);
    if (n > shown)
        strbuf_addf(&call->text, "\n... %zu more", n - shown);
    add_saves(&call->text, call->toolbox->store);
    call_finish(call);
}

static void add_checkpoints(struct strbuf *out, struct session *s)
{
    strbuf_addf(out, "\nCheckpoints: %zu", snapshots_count(session_snapshots(s)));
    if (session_checkpoint_cost_ms(s) > 0)
        strbuf_addf(out, ", %.1f ms each", session_checkpoint_cost_ms(s));
    if (session_checkpoints_when_idle(s))
        strbuf_adds(out, "; they are slow, so they take at most a twentieth of the time or wait until the "
                         "session has been idle for a second");
    if (session_why_no_checkpoint(s) != NULL)
        strbuf_addf(out, "; the last one failed: %s", session_why_no_checkpoint(s));
}

/* "running for 12 s: (loop)", or what it waits for, and how many wait behind it. False if nothing runs. */
static bool add_running(struct strbuf *out, const struct session *s)
{
    struct strbuf what = {0};
    size_t waiting;
    double elapsed_s = session_running(s, &what, &waiting);
    struct session_evaluation e;
    if (elapsed_s >= 0) {
        bool is_asking = session_evaluation_at(s, 0, &e) && e.is_asking;
        strbuf_addf(out, is_asking ? "waiting for a line of input, after %.0f s: " : "running for %.0f s: ",
                    elapsed_s);
        section_add_first_line(out, strbuf_string(&what), what.len, SIZE_MAX);
        if (waiting > 0)
            strbuf_addf(out, "; %s waiting", text_count(waiting, "call").text);
    }
    strbuf_fini(&what);
    return elapsed_s >= 0;
}

static void add_programs(struct strbuf *out, const struct session *s)
{
    pid_t programs[MOST_PROGRAMS + 1];
    size_t n = process_programs(s, programs, MOST_PROGRAMS + 1);
    char name[16];
    for (size_t i = 0; i < n && i < MOST_PROGRAMS; i++) {
        process_name(programs[i], name, sizeof name);
        strbuf_addf(out, "%s", i == 0 ? "\nPrograms: " : ", ");
        utf8_repair(out, name, strlen(name));
        strbuf_addf(out, " (process %d)", (int)programs[i]);
    }
    if (n > MOST_PROGRAMS)
        strbuf_adds(out, ", ...");
}

/* What the Lisp reports about itself; NULL: it was not asked. */
static void add_info(struct tool_call *call, struct session *s, const struct sexp *reply)
{
    struct strbuf *out = &call->text;
    strbuf_addf(out, "Session: %s\nState: ", session_name(s));
    if (!add_running(out, s))
        strbuf_adds(out, reply != NULL ? "idle" : activity(s));
    if (session_suspended_since(s) != NULL)
        strbuf_addf(out, " since %s; it resumes when it is next used",
                    text_date(session_suspended_since(s)->tv_sec).text);
    strbuf_addf(out, "\nLisp: %s\nPackage: ", lisp_of(call, s));
    text_add_hanging(out, session_package(s), strlen(session_package(s)), "  ");
    if (session_attached(s) == NULL)
        strbuf_addf(out, "\nProcess: %d", (int)session_pid(s));
    strbuf_addf(out, "\nAge: %.0f s\nEvaluations: %llu\nErrors: %zu", session_age_s(s),
                (unsigned long long)session_evaluations(s), session_error_count(s));
    if (session_last_error(s) != NULL)
        strbuf_addf(out, " (the last evaluation failed: error %d)", session_last_error(s)->sequence);
    add_directory(out, "\nDirectory: ", s);
    if (session_confinement(s) != NULL)
        strbuf_addf(out, "\nSandbox: %s", confinement_description(session_confinement(s)));
    if (session_attached(s) == NULL)
        add_checkpoints(out, s);
    if (session_pid(s) > 0) {
        struct session_memory memory = session_memory(s, MEMORY_MS);
        strbuf_adds(out, "\nMemory: ");
        add_memory(out, &memory);
    }
    add_programs(out, s);
    if (reply != NULL) {
        /* Not every Lisp that is joined tells its heap. */
        reply_fill(out, reply,
                   "{heap-limit-bytes?\nHeap: {,heap-bytes} bytes used of {,heap-limit-bytes}}"
                   "\nThreads: {threads*, |{/  }}{threads!none}\nSystems: {systems*, |{/  }}{systems!none}"
                   "\nImplementation features: {features*, |{}}{features!none}");
    }
    const char *separator = "\nLimits: ";
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        if (!session_has_limit(s, (enum limit)i))
            continue;
        strbuf_addf(out, "%s%s %.10g%s%s", separator, d->name, session_limits(s)->value[i],
                    d->unit[0] != '\0' ? " " : "", d->unit);
        separator = ", ";
    }
    call_finish(call);
}

static void on_info(struct tool_call *call, const struct outcome *o)
{
    add_info(call, o->session, o->kind == OUTCOME_OK ? o->reply : NULL);
}

static void session_info(struct tool_call *call)
{
    if (arguments_boolean(call, "all")) {
        list_sessions(call);
        return;
    }
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    call_begin_request(call, "session-info");
    /* If something runs, the client wants to know what; and a suspended session is not resumed for this. */
    if (is_running(s) || session_suspended_since(s) != NULL)
        add_info(call, s, NULL);
    else
        look_up_whatever(call, s, on_info);
}

/* The image continues, and so do errors of its own threads. */
static void add_left(struct strbuf *out, const struct session *s)
{
    size_t standing = 0;
    const struct error_record *r;
    for (size_t i = 0; (r = session_error(s, i)) != NULL; i++)
        standing += error_record_stands(r) && r->thread == NULL;
    strbuf_adds(out, " Its image continues");
    if (standing > 0)
        strbuf_addf(out, "; %s that stood there %s unwound", text_count(standing, "error").text,
                    standing == 1 ? "is" : "are");
    strbuf_addc(out, '.');
}

static void close_session(struct tool_call *call)
{
    const char *name = arguments_string(call, "session", NULL);
    if (name == NULL) {
        call_answer(call, true, "Argument close goes with session, which is missing. Nothing was closed.");
        return;
    }
    struct session *s = sessions_find(call->toolbox->sessions, name);
    if (s == NULL) {
        call_unknown_session(call, name);
        return;
    }
    strbuf_addf(&call->text, "Session %s closed.", name);
    if (session_attached(s) != NULL)
        add_left(&call->text, s);
    sessions_close(s);
    call_finish(call);
}

static void reset_session(struct tool_call *call)
{
    if (arguments_boolean(call, "close")) {
        close_session(call);
        return;
    }
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    if (session_attached(s) == NULL)
        add_systems(&call->text, s);
    look_up_request(call, s, OPERATION_RESET, NULL, on_reset);
}

const struct tool tool_create_session = {
    .name = "create-session",
    .title = "Create a session",
    .description = "Create a separate Lisp: fresh, a copy of another session (from), or a saved one in place "
                   "of a running one of that name.",
    .is_destructive = true,
    .arguments = {ARGUMENT("name", STRING, "", .names_session = true), ARGUMENT("saved", BOOLEAN, ""),
                  ARGUMENT("from", STRING, "", .excludes = "saved"),
                  ARGUMENT("systems", STRING_LIST, "", .excludes = "saved"),
                  ARGUMENT("directory", STRING, "", .excludes = "saved", .also_excludes = "from"),
                  ARGUMENT("attach", STRING, "A person's Lisp: HOST:PORT of its Swank, or auto.",
                           .excludes = "saved", .also_excludes = "from"),
                  ARGUMENT("package", STRING, "", .excludes = "saved"),
                  ARGUMENT("sandbox", STRING, "", .choices = &confinement_mode_names[CONFINEMENT_WORKSPACE],
                           .excludes = "saved", .also_excludes = "from"),
                  ARGUMENT("network", STRING, "", .choices = confinement_network_names, .excludes = "saved",
                           .also_excludes = "from")},
    .run = create_session,
};

const struct tool tool_session_info = {
    .name = "session-info",
    .title = "Show sessions",
    .description = "Show a session: what runs, Lisp, package, memory, systems, limits; or list all "
                   "sessions and saves.",
    .is_read_only = true,
    .arguments = {ARGUMENT("all", BOOLEAN, ""), SESSION_ARGUMENT},
    .run = session_info,
};

const struct tool tool_reset_session = {
    .name = "reset-session",
    .title = "Reset or close",
    .description = "Restart the session in a clean state; or close it and end every process that it started.",
    .is_destructive = true,
    .arguments = {SESSION_ARGUMENT, ARGUMENT("close", BOOLEAN, "")},
    .run = reset_session,
};
