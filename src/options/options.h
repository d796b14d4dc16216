/*
 * The command line. This is the only reader of argv and of the server's environment variables. Every
 * option is a row of one table, from which --help, the completions and the manual page's check are made.
 */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/errors.h"
#include "http/server.h"
#include "join/image.h"
#include "lisp/confinement.h"
#include "lisp/zygote.h"
#include "session/records/limits.h"

#define OPTIONS_MOST_REPEATED 64
#define OPTIONS_MOST_NODE 63

enum { VIEW_ON, VIEW_OFF, VIEW_PAGE }; /* the order of its row; without its argument: VIEW_PAGE */

/* Of the options of other parts, the members are set that the command line has. Strings are borrowed from
 * argv unless stated otherwise. A list ends with NULL, is owned, and is never NULL itself. */
struct options {
    bool wants_help, wants_version;
    bool wants_all_help;             /* --help all */
    const char *build_core;          /* directory; NULL: serve */
    bool wants_stdio;                /* --stdio was given, which matters only with --http */
    struct http_server_options http; /* without an address: no HTTP; its connection: of stdio, too */
    const char *metrics_address;     /* NULL: none */
    const char *audit_file;          /* NULL: none */
    bool redacts;                    /* --redact */
    unsigned view;                   /* VIEW_ON, ... */
    /* its user_init may be ${found_init}, its directory the environment's CLAUDE_PROJECT_DIR; without that:
     * the client's root or the current one */
    struct zygote_options zygote;
    bool has_no_user_init; /* --no-userinit */
    const char *attach;    /* valid; NULL: sessions are Lisps of the server's own */
    bool allows_attach;    /* --allow-attach */
    bool is_attach_read_only;
    bool sends_secret;              /* --attach-secret */
    enum image_announces announces; /* the order of its row */
    size_t lock_grace_s;
    bool is_sandbox_given; /* --sandbox, possibly off */
    struct confinements_options confinement;
    const char *state_directory; /* NULL when there is no home directory; may be ${found_state_directory} */
    bool is_persistent;
    size_t save_every_s;                            /* 0: save at the end only */
    size_t idle_timeout_s;                          /* 0: never suspend sessions */
    size_t most_sessions, most_processes;           /* of the server; 0: not given */
    bool has_control_groups;                        /* --control-groups */
    size_t principal_sessions, principal_processes; /* of each principal; 0: not given */
    struct limits limits;

    char found_init[PATH_MAX], found_state_directory[PATH_MAX];
};

struct option_definition;

/*
 * An option_setter stores the argument of one option in ${o}.
 *
 * argument    borrowed, outlives ${o}; NULL for an option without an argument
 * Returns     true; false with ${err} set, its message one sentence
 */
typedef bool option_setter(struct options *o, const struct option_definition *option, const char *argument,
                           struct err *err);

struct option_definition {
    const char *section;  /* heading in --help */
    const char *name;     /* without the dashes */
    const char *argument; /* the name of its argument in --help; NULL: it takes none */
    const char *help;     /* one sentence without a full stop */
    char initial[32];     /* its default as --help shows it; "" for none */
    bool is_repeatable;
    bool is_argument_optional;
    bool is_common; /* --help shows it, not only --help all */
    option_setter *set;
    size_t place; /* what ${set} sets: the offset of a member of struct options */
};

/* options_count(), options_at(n): every option in the order of --help, the limits of a session last. */
size_t options_count(void);
struct option_definition options_at(size_t n);

/*
 * options_parse(o, argc, argv):
 * Fill ${o} from the command line, which is read up to --help or --version if it contains one of them.
 *
 * o           needs options_fini() in any case
 * argv        borrowed, outlives ${o}
 * Returns     false: an error was reported on stderr
 */
bool options_parse(struct options *o, int argc, char **argv);

/* options_fini(o): free what ${o} owns. */
void options_fini(struct options *o);

/* options_help(out, is_all): print a line for each option, under the headings of their sections, or only for
 * the common ones, under one heading. */
void options_help(FILE *out, bool is_all);

#endif
