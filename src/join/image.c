/*
 * Responsible for joining one image and for carrying the messages of its worker. The agent's half is
 * agent/joined/; docs/agent-protocol.md section 11 has the forms that travel.
 *
 * A connection in which the server waits for a secret looks like one in which it is slow, so each known
 * secret is tried in a connection of its own.
 */
#include "join/image.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "join/address.h"
#include "join/agent_cache.h"
#include "join/secret.h"
#include "join/swank.h"
#include "proc/loop_handle.h"

#define LEAVE_MS 2000
#define PIECE ((size_t)256 << 10) /* of the agent's source, for an image on another machine */
#define GIVE_UP_AT 3              /* the interrupt after which the evaluation is left alone */

extern const char joined_probe[], joined_install[], joined_load[], joined_receive[];

/* What is awaited, and how long. */
enum stage { CONNECTING, PROBING, LOADING, OPENING, SERVING, LEAVING };

static const struct {
    uint64_t limit_ms;
    const char *late;
} stages[] = {
    [CONNECTING] = {5000, "there was no answer for 5 s"},
    [PROBING] = {5000, "it does not answer"},
    [LOADING] = {120000, "loading the agent there took longer than two minutes"},
    [OPENING] = {60000, "the agent that was loaded there does not answer"},
};

struct image {
    struct image_options options; /* its strings are owned */
    struct join_address address;
    size_t secret; /* which one is tried */
    struct strbuf secret_path;
    struct err withheld; /* why the secret was not sent; ERR_NONE: it was */
    struct swank *swank; /* NULL: there is no connection */
    uv_timer_t *timer;
    enum stage stage;
    struct agent_cache cache;
    bool has_cache;
    size_t sent;             /* bytes of the source */
    char implementation[41]; /* as the image says it */
    struct strbuf description, directory;
    struct image_process process;
    struct worker *worker; /* SERVING */
};

static void destroy(struct image *image)
{
    swank_free(image->swank);
    loop_handle_free(image->timer);
    strbuf_fini(&image->secret_path);
    strbuf_fini(&image->description);
    strbuf_fini(&image->directory);
    if (image->has_cache)
        agent_cache_fini(&image->cache);
    free((char *)(uintptr_t)image->options.address);
    free((char *)(uintptr_t)image->options.directory);
    free((char *)(uintptr_t)image->options.client);
    free((char *)(uintptr_t)image->options.session);
    free(image);
}

static void fail(struct image *image, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Before there is a worker. */
static void fail(struct image *image, const char *format, ...)
{
    struct err err;
    struct strbuf text = {0}; /* of any length: err_set() cuts it */
    va_list arguments;
    va_start(arguments, format);
    strbuf_vaddf(&text, format, arguments);
    va_end(arguments);
    err_set(&err, ERR_GONE, "%s", strbuf_string(&text));
    strbuf_fini(&text);
    image->options.on_failed(image->options.arg, &err);
    destroy(image);
}

/* The connection is of no more use to the worker. */
static void lose(struct image *image, const char *why)
{
    struct err err;
    err_set(&err, ERR_GONE, "%s", why);
    if (image->worker != NULL)
        worker_lose(image->worker, &err);
}

static void begin(struct image *image);

/* What may be wrong with the secret; given. */
static char *secret_hint(const struct image *image)
{
    const char *path = strbuf_string(&image->secret_path);
    if (image->withheld.code != ERR_NONE)
        return strbuf_format("it wants a secret. --attach-secret would send it the one in %s, which was not "
                             "sent because the server %s",
                             path, image->withheld.message);
    if (image->secret_path.len > 0)
        return strbuf_format("it has another secret than that of %s", path);
    return xstrdup("it wants a secret, and there is no ~/.slime-secret or ~/.sly-secret");
}

/* It was connected, but nothing came. */
static void next_secret(struct image *image, const char *what)
{
    struct strbuf secret = {0}, path = {0};
    bool is_another = image->withheld.code == ERR_NONE && join_secret(image->secret + 1, &secret, &path);
    strbuf_fini(&secret);
    strbuf_fini(&path);
    if (is_another) {
        image->secret++;
        begin(image);
        return;
    }
    char *hint = secret_hint(image);
    fail(image,
         "Something listens at %s:%s%s, but %s. Either it is no Swank or Slynk server, or its Lisp is "
         "stopped, or %s. The next call tries again.",
         image->address.host, image->address.port, image->address.origin, what, hint);
    free(hint);
}

static void fail_to_connect(struct image *image, const char *why)
{
    fail(image,
         "Nothing answers at %s:%s%s (%s). Start a server in the Lisp that is to be joined: "
         "(swank:create-server :port %s :dont-close t). The next call tries again.",
         image->address.host, image->address.port, image->address.origin, why, image->address.port);
}

static void fail_in_stage(struct image *image, const char *why)
{
    if (image->stage == CONNECTING)
        fail_to_connect(image, why);
    else if (image->stage == PROBING)
        next_secret(image, why);
    else
        fail(image, "%s:%s: %s. The next call tries again.", image->address.host, image->address.port, why);
}

static void on_late(uv_timer_t *timer)
{
    struct image *image = timer->data;
    fail_in_stage(image, stages[image->stage].late);
}

static void enter(struct image *image, enum stage stage)
{
    image->stage = stage;
    uv_timer_start(image->timer, on_late, stages[stage].limit_ms, 0);
}

static void tell(struct image *image, const char *text)
{
    image->options.on_progress(image->options.arg, text);
}

static void write_function(struct strbuf *form, const char *function)
{
    strbuf_adds(form, "(cl:eval (cl:read-from-string");
    sexp_write_string(form, function, strlen(function));
    strbuf_adds(form, "))");
}

/* A function of agent/joined/, called with what follows. An error there is a value. */
static void write_call(struct strbuf *form, const char *function)
{
    strbuf_adds(form, "(cl:handler-case (cl:let ((cl:*readtable* (cl:copy-readtable cl:nil))"
                      " (cl:*package* (cl:or (cl:find-package \"CL-MCP-LOADER\")"
                      " (cl:make-package \"CL-MCP-LOADER\" :use '(\"COMMON-LISP\")))))"
                      " (cl:funcall ");
    write_function(form, function);
}

/* One that makes the agent of this version the image's. */
static void write_install_call(const struct image *image, struct strbuf *form, const char *function)
{
    char version[AGENT_VERSION_LEN + 1];
    agent_cache_version(image->implementation, version);
    write_call(form, function);
    write_function(form, joined_install);
    sexp_write_string(form, version, strlen(version));
}

static void end_call(struct strbuf *form)
{
    strbuf_adds(form, ")) (cl:error (cl:condition) (cl:list :failed (cl:princ-to-string cl:condition))))");
}

static bool request(struct image *image, struct strbuf *form, swank_done *done)
{
    bool was_sent = image->swank != NULL && swank_request(image->swank, form->bytes, form->len, done, image);
    strbuf_fini(form);
    return was_sent;
}

static void on_collected(void *arg, const struct sexp *value, const char *why);

static void collect(struct image *image)
{
    struct strbuf form = {0};
    strbuf_addf(&form, "(cl-mcp-agent::joined-collect %" PRId64 ")", image->process.session);
    request(image, &form, on_collected);
}

static void receive(struct image *image, const struct sexp *text)
{
    struct err err;
    size_t len;
    const char *payload = sexp_string(text, &len);
    struct sexp_document *message = payload == NULL ? NULL : sexp_parse(payload, len, &err);
    if (message == NULL)
        lose(image, "the agent in it sent a message that cannot be read");
    else
        worker_receive(image->worker, message);
}

static void on_collected(void *arg, const struct sexp *value, const char *why)
{
    struct image *image = arg;
    if (value == NULL || (sexp_count(value) == 0 && !sexp_is_nil(value))) {
        if (why != NULL)
            log_warning("a joined image: %s", why);
        lose(image, "the agent in it has ended");
        return;
    }
    for (size_t i = 0; i < sexp_count(value) && image->worker != NULL; i++)
        receive(image, sexp_nth(value, i));
    if (image->worker != NULL && worker_is_alive(image->worker))
        collect(image);
}

static void on_delivered(void *arg, const struct sexp *value, const char *why)
{
    if (!sexp_is_symbol(value, "ok"))
        lose(arg, "the agent in it did not accept a request");
}

static void on_said(void *arg, const struct sexp *value, const char *why)
{
    if (value == NULL)
        log_warning("a joined image: %s", why);
}

static void carry_send(void *arg, const char *message, size_t len)
{
    struct image *image = arg;
    struct strbuf form = {0};
    strbuf_addf(&form, "(cl-mcp-agent::joined-deliver %" PRId64, image->process.session);
    sexp_write_string(&form, message, len);
    strbuf_addc(&form, ')');
    request(image, &form, on_delivered);
}

static void carry_interrupt(void *arg, int token, int times)
{
    struct image *image = arg;
    struct strbuf form = {0};
    strbuf_addf(&form, "(cl-mcp-agent::joined-%s %" PRId64 " %d)",
                times < GIVE_UP_AT ? "interrupt" : "give-up", image->process.session, token);
    request(image, &form, on_said);
}

static void on_left(uv_timer_t *timer)
{
    destroy(timer->data);
}

static void on_closed(void *arg, const struct sexp *value, const char *why)
{
    destroy(arg);
}

/* The connection stays until the agent has unwound what stands there, but not long. */
static void carry_leave(void *arg)
{
    struct image *image = arg;
    struct strbuf form = {0};
    image->worker = NULL;
    image->stage = LEAVING;
    strbuf_addf(&form, "(cl-mcp-agent::joined-close %" PRId64 ")", image->process.session);
    uv_timer_start(image->timer, on_left, request(image, &form, on_closed) ? LEAVE_MS : 0, 0);
}

/* ${value}: what a form of the agent's returned, NULL with ${why} if it was aborted. */
static void fail_there(struct image *image, const char *what, const struct sexp *value, const char *why)
{
    const char *reason = sexp_string(sexp_nth(value, 1), NULL);
    fail(image, "%s:%s: the agent could not %s there: %s", image->address.host, image->address.port, what,
         reason != NULL ? reason
         : why != NULL  ? why
                        : "no reason was given");
}

/* (SESSION "(0 :hello ...)" LEFT) */
static void on_opened(void *arg, const struct sexp *value, const char *why)
{
    struct image *image = arg;
    image->process.session = sexp_integer(sexp_nth(value, 0), 0);
    if (image->process.session <= 0) {
        fail_there(image, "begin a session", value, why);
        return;
    }
    struct worker_carrier carrier = {
        .send = carry_send, .interrupt = carry_interrupt, .leave = carry_leave, .arg = image};
    uv_timer_stop(image->timer);
    image->stage = SERVING;
    image->worker = worker_new_carried(image->options.loop, &image->options.events, &carrier);
    image->options.on_worker(image->options.arg, image->worker,
                             &(struct image_facts){.description = strbuf_string(&image->description),
                                                   .directory = strbuf_string(&image->directory),
                                                   .process = &image->process,
                                                   .left = sexp_string(sexp_nth(value, 2), NULL)});
    receive(image, sexp_nth(value, 1));
    if (image->worker != NULL && worker_is_alive(image->worker))
        collect(image);
}

static void open_session(struct image *image)
{
    struct strbuf form = {0};
    strbuf_adds(&form, "(cl:handler-case (cl:progn (cl-mcp-agent::joined-open");
    sexp_write_string(&form, image->options.client, strlen(image->options.client));
    sexp_write_symbol(&form, "session");
    sexp_write_string(&form, image->options.session, strlen(image->options.session));
    strbuf_addf(&form, " :port %s", image->address.port);
    if (image_process_is(&image->process, &image->options.before))
        strbuf_addf(&form, " :before %" PRId64, image->options.before.session);
    sexp_write_symbol(&form, "announce");
    static const char *const announces[] = {[IMAGE_ANNOUNCES] = " cl:t",
                                            [IMAGE_ANNOUNCES_NOTHING] = " cl:nil",
                                            [IMAGE_ANNOUNCES_IN_BUFFER] = " :buffer"};
    strbuf_adds(&form, announces[image->options.announces]);
    sexp_write_symbol(&form, "looks");
    strbuf_adds(&form, image->options.only_looks ? " cl:t" : " cl:nil");
    strbuf_addf(&form, " :lock-grace %zu", image->options.lock_grace_s);
    end_call(&form);
    request(image, &form, on_opened);
    enter(image, OPENING);
}

static void send_piece(struct image *image);

static void on_piece(void *arg, const struct sexp *value, const char *why)
{
    if (sexp_is_symbol(value, "loaded"))
        open_session(arg);
    else if (sexp_is_symbol(value, "ok"))
        send_piece(arg);
    else
        fail_there(arg, "be loaded", value, why);
}

static void send_piece(struct image *image)
{
    size_t len;
    const char *source = agent_cache_source(image->implementation, &len);
    size_t rest = len - image->sent, piece = rest < PIECE ? rest : PIECE;
    struct strbuf form = {0};
    while (piece < rest && utf8_continues(source[image->sent + piece]))
        piece--; /* a character stays in one piece */
    write_install_call(image, &form, joined_receive);
    strbuf_adds(&form, image->sent == 0 ? " cl:t" : " cl:nil");
    strbuf_adds(&form, piece == rest ? " cl:t" : " cl:nil");
    sexp_write_string(&form, source + image->sent, piece);
    end_call(&form);
    image->sent += piece;
    request(image, &form, on_piece);
    enter(image, LOADING);
}

static void send_source(struct image *image)
{
    tell(image, "sending the agent to the image and compiling it there, which may take half a minute");
    image->sent = 0;
    send_piece(image);
}

static void on_loaded(void *arg, const struct sexp *value, const char *why)
{
    if (sexp_is_symbol(value, "loaded"))
        open_session(arg);
    else if (sexp_is_symbol(value, "elsewhere"))
        send_source(arg);
    else
        fail_there(arg, "be loaded", value, why);
}

static void write_text(struct strbuf *form, const struct strbuf *text)
{
    sexp_write_string(form, strbuf_string(text), text->len);
}

static void load_agent(struct image *image, const char *version)
{
    struct err err;
    struct strbuf form = {0};
    image->has_cache = true;
    if (!agent_cache_open(&image->cache, image->implementation, version, &err)) {
        log_warning("compiled files of the agent are not kept: %s", err.message);
        send_source(image);
        return;
    }
    tell(image, "loading the agent into the image, which takes half a minute when it is compiled first");
    write_install_call(image, &form, joined_load);
    write_text(&form, &image->cache.compiled);
    write_text(&form, &image->cache.source);
    write_text(&form, &image->cache.word_file);
    write_text(&form, &image->cache.word);
    end_call(&form);
    request(image, &form, on_loaded);
    enter(image, LOADING);
}

static const char *text_in(const struct sexp *value, const char *key)
{
    const char *text = sexp_string(sexp_get(value, 0, key), NULL);
    return text == NULL ? "" : text;
}

static void describe(struct image *image, const struct sexp *value)
{
    snprintf(image->implementation, sizeof image->implementation, "%s", text_in(value, "implementation"));
    strbuf_clear(&image->description);
    strbuf_clear(&image->directory);
    strbuf_adds(&image->directory, text_in(value, "directory"));
    strbuf_addf(&image->description, "%.40s %.80s at %s:%s, %.80s, process %" PRId64 " on %.80s",
                text_in(value, "implementation"), text_in(value, "version"), image->address.host,
                image->address.port, text_in(value, "server"), image->process.pid, text_in(value, "host"));
}

static void on_probed(void *arg, const struct sexp *value, const char *why)
{
    struct image *image = arg;
    char hash[AGENT_VERSION_LEN + 1];
    int64_t standing = sexp_integer(sexp_get(value, 0, "standing"), 0);
    const char *there = sexp_string(sexp_get(value, 0, "agent"), NULL);
    image_process_read(&image->process, value);
    describe(image, value);
    agent_cache_version(image->implementation, hash);
    if (sexp_get(value, 0, "implementation") == NULL)
        fail_there(image, "be loaded", value, why);
    else if (there != NULL && strcmp(there, hash) == 0)
        open_session(image);
    else if (there != NULL && standing > 0)
        fail(image,
             "%s:%s: an agent of another version is in the image, and %" PRId64
             " of its errors stand there. It "
             "is replaced when they have been left, or its server has ended.",
             image->address.host, image->address.port, standing);
    else
        load_agent(image, text_in(value, "version"));
}

static void on_connected(void *arg, const struct err *why)
{
    struct image *image = arg;
    if (why != NULL)
        image->withheld = *why;
    struct strbuf form = {0};
    write_call(&form, joined_probe);
    end_call(&form);
    request(image, &form, on_probed);
    enter(image, PROBING);
}

static void on_lost(void *arg, const struct err *why)
{
    struct image *image = arg;
    if (image->stage == LEAVING) {
        destroy(image);
    } else if (image->stage == SERVING) {
        swank_free(image->swank);
        image->swank = NULL;
        lose(image, why->message);
    } else if (image->stage == CONNECTING && why->code == ERR_INVALID) {
        fail(image,
             "Nothing was sent to the server at %s:%s%s: it %s. If you mean it, name its address: --attach "
             "%s:%s. "
             "The next call tries again.",
             image->address.host, image->address.port, image->address.origin, why->message,
             image->address.host, image->address.port);
    } else {
        fail_in_stage(image, why->message);
    }
}

static void begin(struct image *image)
{
    struct strbuf secret = {0};
    struct swank_events events = {.on_connected = on_connected, .on_lost = on_lost, .arg = image};
    strbuf_clear(&image->secret_path);
    bool has_secret = join_secret(image->secret, &secret, &image->secret_path);
    swank_free(image->swank);
    enum swank_trust trust = image->address.origin[0] != '\0' ? SWANK_NOTHING
                             : image->options.sends_secret    ? SWANK_SECRET
                                                              : SWANK_NO_SECRET;
    image->swank = swank_connect(image->options.loop, &image->address,
                                 has_secret ? strbuf_string(&secret) : NULL, trust, &events);
    strbuf_fini(&secret);
    enter(image, CONNECTING);
}

static void on_begin(uv_timer_t *timer)
{
    begin(timer->data);
}

struct image *image_join(const struct image_options *options)
{
    struct err err;
    struct image *image = xcalloc(1, sizeof *image);
    image->options = *options;
    image->options.address = xstrdup(options->address);
    image->options.directory = xstrdup(options->directory);
    image->options.client = xstrdup(options->client);
    image->options.session = xstrdup(options->session);
    image->timer = loop_handle_timer(options->loop, image);
    if (!join_address_parse(options->address, &image->address, &err) || image->address.host[0] == '\0')
        join_address_find(options->directory, &image->address);
    uv_timer_start(image->timer, on_begin, 0, 0);
    return image;
}

void image_cancel(struct image *image)
{
    destroy(image);
}
