/*
 * The checks of `doctor`: one row each.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include <stdbool.h>

#include "cli/own_session.h"
#include "options/options.h"

enum verdict { VERDICT_GOOD, VERDICT_NOTE, VERDICT_PROBLEM };

struct patient {
    const struct options *options;     /* of the server to be examined */
    const char *const *server_options; /* the same as on the command line; NULL-terminated */
    char *lisp;                        /* NULL: none was found, for the reason in ${no_lisp} */
    struct err no_lisp;
    bool was_core_there; /* before anything was run */
    bool has_session;    /* ${session} has answers; otherwise ${no_session} says why not */
    struct own_session session;
    struct err no_session;
};

/*
 * A check calls this once per finding.
 *
 * name        of what was checked
 * advice      what to do about it; NULL: nothing
 */
typedef void finding(void *arg, const char *name, enum verdict verdict, const char *advice,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

struct check {
    const char *name;
    void (*run)(const struct patient *patient, const char *name, finding *found, void *arg);
};

/* checks_at(n): the row; NULL after the last. */
const struct check *checks_at(size_t n);

/* The forms that are evaluated in a session, in this order. */
enum question { QUESTION_SUM, QUESTION_FACTS };
extern const char *const doctor_questions[];

#endif
