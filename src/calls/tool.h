/*
 * A tool: the struct that every file of src/tools fills in, and a call of one. The struct is the
 * documentation, the schema for clients, the argument check and the dispatcher's entry. Tools never parse:
 * their arguments were checked against the struct before they run.
 */
#ifndef CALLS_TOOL_H
#define CALLS_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "session/records/author.h"

struct outcome;
struct session;
struct toolbox;
struct tool_call;

enum argument_type {
    ARGUMENT_STRING,
    ARGUMENT_INTEGER,
    ARGUMENT_NUMBER,
    ARGUMENT_BOOLEAN,
    ARGUMENT_STRING_LIST
};

struct tool_argument {
    const char *name; /* kebab-case; NULL ends the list */
    enum argument_type type;
    bool is_required;
    bool names_session;         /* it names the session: clients repeat it in the header Mcp-Param-Session */
    double minimum, maximum;    /* for numbers; both 0: unbounded */
    const char *const *choices; /* NULL-terminated; NULL: any string */
    const char *description;    /* at most a line; "": the name says enough, and is listed alone */
    const char *excludes; /* the argument that it is given instead of; if it is required, so is one of them */
    const char *also_excludes; /* another such argument; NULL: none */
    const char *needs;         /* the argument without which it means nothing; NULL: none */
    /* How call_begin_operation() sends it to the agent. A number that need not be an integer is not sent. */
    bool is_servers;            /* nor is this: the server uses it */
    bool is_persons_word;       /* a flag that a person need not give */
    const char *key;            /* the agent's keyword; NULL: the name */
    const char *default_choice; /* the choice that means the same as none, and is not sent; or NULL */
    int64_t fallback;           /* the integer to send if it is absent; 0: none */
};

/* ARGUMENT(name, type, description, ...): the row of an argument; STRING stands for ARGUMENT_STRING. Other
 * members follow the description. */
#define ARGUMENT(its_name, its_type, ...)                                                                    \
    {                                                                                                        \
        .name = its_name, .type = ARGUMENT_##its_type, .description = __VA_ARGS__                            \
    }

#define TOOL_MAX_ARGUMENTS 14

/* The members of a tool that runs any code. */
#define RUNS_CODE .is_destructive = true, .is_open_world = true

struct tool {
    const char *name;  /* kebab-case, at most 64 characters */
    const char *title; /* for people */
    /* What the agent gets, and when to choose it, in words that it would search for. */
    const char *description;
    bool is_read_only;
    bool evaluates_code; /* that it is given, if only its macros: in a copy, or in the image that is joined */
    bool is_destructive; /* only if not read-only */
    bool is_open_world;
    /* The agent's operation, which is sent the arguments; NULL: run_in() begins the request. */
    const char *operation;
    /* Of a look-up, whose run_in is look_up_run(): appends the reply to the call's text. */
    void (*show)(struct tool_call *call, const struct outcome *outcome);
    struct tool_argument arguments[TOOL_MAX_ARGUMENTS + 1];

    /* run(call), run_in(call, session): do the work; calls call_finish() or call_answer() once, now or later.
     * A tool has one of them. ${session} is the one that the call names, and the request for the operation
     * has begun. */
    void (*run)(struct tool_call *call);
    void (*run_in)(struct tool_call *call, struct session *session);
};

/* The result of a finished call. The pointers may be read while ${done} runs and are invalid after it. */
struct tool_result {
    const struct strbuf *text;          /* the one text block, valid UTF-8 */
    json_t *structured;                 /* borrowed; NULL unless the call requested it and the tool has it */
    const char *picture, *picture_type; /* in base64, and its MIME type; NULL: none */
    bool is_error;
    bool is_absent; /* nothing has the requested name; the text lists similar names */
};

typedef void tool_call_done(void *arg, const struct tool_result *result);

/* Progress of a running call: one line, e.g. "12 s, 4,096 bytes of output: compiling foo.lisp". */
typedef void tool_call_progress(void *arg, double elapsed_s, const char *message);

/*
 * The code that a call evaluates waits for a line of input, until call_answer_question(). ${prompt},
 * borrowed, is what was printed last; NULL: no answer came in time, and the code has read end of file.
 */
struct tool_call;
typedef void tool_call_question(void *arg, struct tool_call *call, int64_t question, const char *prompt);

struct tool_call_options {
    uint64_t client;             /* the client's number; 0: not told apart from others */
    struct author author;        /* who calls */
    const char *default_session; /* borrowed; the session to use when the argument is absent */
    bool wants_structured;
    bool wants_data; /* it is of the window's page, which takes the reply of a look-up as data */
    bool wants_progress;
    bool is_for_resource; /* its text is a resource, to which nothing is added */
    tool_call_done *done;
    tool_call_progress *on_progress; /* may be NULL */
    tool_call_question *on_question; /* NULL: nobody can be asked */
    void *arg;
};

#endif
