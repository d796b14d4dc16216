/*
 * Look-ups in a session that has loaded a large library, ironclad, and some definitions of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "rounds.h"

#define ROUNDS 7
#define LEAST_SAMPLES 5
#define SLICE_MS 20
#define TEXT_BYTES ((size_t)1 << 20)

#define MOST_MS(ms)                                                                                          \
    {                                                                                                        \
        TARGET_MOST_MS, ms                                                                                   \
    }

static const char definitions[] =
    EVALUATE("(progn (defclass bench-shape () ((name :initarg :name :reader bench-name)))"
             " (defclass bench-circle (bench-shape) ((radius :initarg :radius :accessor bench-radius)))"
             " (defgeneric bench-area (shape))"
             " (defmethod bench-area ((c bench-circle)) (* 3 (bench-radius c) (bench-radius c)))"
             " (defmethod bench-area :before ((s bench-shape)) (bench-name s))"
             " (defvar *bench-count* 0)"
             " (defun bench-area-of (s) (incf *bench-count*) (bench-area s))"
             " (defun bench-total (list) (reduce #'+ list :key #'bench-area-of))"
             " (defmacro bench-twice (form) `(progn ,form ,form))"
             " (defun bench-use () (bench-twice (bench-total nil))))",
             "");

struct lookup {
    const char *name, *request, *expected;
    struct target target;
};

#define LOOK_UP(name, tool, arguments, expected)                                                             \
    {                                                                                                        \
        name, CALL(tool, arguments), expected, MOST_MS(5)                                                    \
    }
#define SEARCH(name, tool, arguments, expected)                                                              \
    {                                                                                                        \
        name, CALL(tool, arguments), expected, MOST_MS(50)                                                   \
    }

static const struct lookup lookups[] = {
    LOOK_UP("describe-symbol bench-total", "describe-symbol", "\"name\":\"bench-total\"", "BENCH-TOTAL"),
    LOOK_UP("describe-symbol mapcar", "describe-symbol", "\"name\":\"mapcar\"", "MAPCAR"),
    LOOK_UP("describe-symbol, no such name", "describe-symbol", "\"name\":\"bench-totl\"", "BENCH-TO"),
    LOOK_UP("find-definition bench-area", "find-definition", "\"name\":\"bench-area\"", "BENCH-AREA"),
    LOOK_UP("find-definition ironclad:digest-sequence", "find-definition",
            "\"name\":\"ironclad:digest-sequence\"", "DIGEST-SEQUENCE"),
    LOOK_UP("who-calls bench-total", "who-calls", "\"name\":\"bench-total\"", "BENCH-USE"),
    LOOK_UP("who-calls ironclad:digest-length", "who-calls", "\"name\":\"ironclad:digest-length\"",
            "DIGEST-LENGTH"),
    LOOK_UP("who-references *bench-count*", "who-references", "\"name\":\"*bench-count*\"", "BENCH-AREA-OF"),
    LOOK_UP("who-sets *bench-count*", "who-sets", "\"name\":\"*bench-count*\"", "BENCH-AREA-OF"),
    LOOK_UP("who-macroexpands bench-twice", "who-macroexpands", "\"name\":\"bench-twice\"", "BENCH-USE"),
    LOOK_UP("who-specializes bench-circle", "who-specializes", "\"name\":\"bench-circle\"", "BENCH-AREA"),
    LOOK_UP("list-callees bench-total", "list-callees", "\"name\":\"bench-total\"", "BENCH-AREA-OF"),
    LOOK_UP("class-info bench-circle", "class-info", "\"class\":\"bench-circle\"", "RADIUS"),
    LOOK_UP("find-methods print-object", "find-methods", "\"generic-function\":\"print-object\"",
            "PRINT-OBJECT"),
    LOOK_UP("explain-dispatch", "explain-dispatch", "\"form\":\"(print-object 1 *standard-output*)\"",
            "PRINT-OBJECT"),
    LOOK_UP("macroexpand-form, a loop, once", "macroexpand-form",
            "\"form\":\"(bench-twice (loop for i below 3 collect i))\"", "(progn"),
    LOOK_UP("macroexpand-form, a loop, everywhere", "macroexpand-form",
            "\"form\":\"(loop for i below 3 collect i)\",\"all\":true", "tagbody"),
    LOOK_UP("disassemble-function bench-total", "disassemble-function", "\"name\":\"bench-total\"",
            "BENCH-TOTAL"),
    LOOK_UP("list-definitions", "list-definitions", "", "BENCH-TOTAL"),
    LOOK_UP("complete-symbol mult", "complete-symbol", "\"prefix\":\"mult\"", "multiple-value"),
    LOOK_UP("complete-symbol ironclad:dig", "complete-symbol", "\"prefix\":\"ironclad:dig\"", "digest"),
    {"inspect-object by handle", NULL, "[", MOST_MS(5)},
    LOOK_UP("session-info", "session-info", "", "Session"),
    LOOK_UP("validate-syntax, a parenthesis", "validate-syntax",
            "\"code\":\"(defun f (x) (list x))\",\"line\":1", "matches"),
    LOOK_UP("validate-syntax, one form", "validate-syntax", "\"code\":\"(defun f (x) (list x))\"", ""),
    SEARCH("apropos-search digest, all packages", "apropos-search", "\"pattern\":\"digest\"", "DIGEST"),
    SEARCH("apropos-search, nothing found", "apropos-search", "\"pattern\":\"no-such-name\"", ""),
    {"tools/list", "\"tools/list\"", "evaluate-lisp", MOST_MS(1)},
};

#define LOOKUPS (sizeof lookups / sizeof lookups[0])

struct turn {
    struct bench *b;
    struct peer *server;
    const char *request, *expected;
};

static double one_call(void *arg)
{
    struct turn *t = arg;
    return client_call(t->b, t->server, t->request, t->expected);
}

/* validate-syntax of a text of a MiB, made of functions. */
static void write_validation(struct strbuf *out)
{
    strbuf_adds(out, "\"tools/call\",\"params\":{\"name\":\"validate-syntax\",\"arguments\":{\"code\":\"");
    size_t start = out->len;
    for (long i = 0; out->len - start < TEXT_BYTES; i++)
        strbuf_addf(out,
                    "(defun function-%ld (list &key (test #'eql))\\n  ; a comment (\\n"
                    "  (let ((text \\\"a string ) of it\\\"))\\n    (loop for item in list\\n"
                    "          when (funcall test item #\\\\)) collect (cons text item))))\\n\\n",
                    i);
    strbuf_adds(out, "\"}}");
}

/* The handle of the object that is inspected repeatedly. */
static void write_inspection(struct turn *t, struct strbuf *out)
{
    static const char *const code =
        CALL("inspect-object", "\"code\":\"(make-instance 'bench-circle :radius 2)\"");
    client_call(t->b, t->server, code, "BENCH-CIRCLE");
    size_t len;
    const char *reply = client_reply(t->server, &len), *mark = "[h";
    const char *at = memmem(reply, len, mark, 2);
    int handle = at != NULL ? atoi(at + 2) : 1;
    strbuf_addf(out, CALL("inspect-object", "\"handle\":\"h%d\""), handle);
}

static void run(struct bench *b)
{
    struct peer server;
    struct turn t = {.b = b, .server = &server};
    struct rounds all[LOOKUPS], validation;
    struct strbuf text, inspection;
    strbuf_init(&text, 0);
    strbuf_init(&inspection, 0);
    write_validation(&text);
    client_start(b, &server, b->checkpoints, (const char *const[]){"--timeout", "600", NULL}, NULL);
    client_call(b, &server, CALL("load-system", "\"system\":\"ironclad\""), "\"isError\":false");
    client_call(b, &server, definitions, "=> BENCH-USE");
    write_inspection(&t, &inspection);
    for (size_t i = 0; i < LOOKUPS; i++)
        rounds_init(&all[i]);
    rounds_init(&validation);
    const struct side side = {one_call, &t};
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < LOOKUPS; i++) {
            t.request = lookups[i].request != NULL ? lookups[i].request : strbuf_string(&inspection);
            t.expected = lookups[i].expected;
            rounds_run(&all[i], &side, NULL, SLICE_MS, LEAST_SAMPLES);
        }
        t.request = strbuf_string(&text);
        t.expected = "\"isError\":false";
        rounds_run(&validation, &side, NULL, SLICE_MS, LEAST_SAMPLES);
    }
    table_times(&b->table, "Look-ups, with ironclad loaded", NULL);
    for (size_t i = 0; i < LOOKUPS; i++)
        rounds_print_times(&all[i], &b->table, lookups[i].name, lookups[i].target);
    rounds_print_times(&validation, &b->table, "validate-syntax, 1 MiB", (struct target){TARGET_NONE, 0});
    for (size_t i = 0; i < LOOKUPS; i++)
        rounds_fini(&all[i]);
    rounds_fini(&validation);
    peer_stop(&server);
    strbuf_fini(&text);
    strbuf_fini(&inspection);
}

const struct suite suite_lookups = {"lookups", "look-ups, with a large library loaded", 0, run};
