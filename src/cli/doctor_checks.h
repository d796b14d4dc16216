/*
 * The checks of `doctor`: one row each.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/own_session.h"
#include "options/options.h"

enum verdict { VERDICT_GOOD, VERDICT_NOTE, VERDICT_PROBLEM };

/* What the checks look at, and what they have found. */
struct examination {
    const struct options *options; /* of the server to be examined */
    char *lisp;                    /* NULL: none was found, for the reason in ${no_lisp} */
    struct err no_lisp;
    bool was_core_there; /* before anything was run */
    bool has_session;    /* ${session} has answers; otherwise ${no_session} says why not */
    struct own_session session;
    struct err no_session;
    const char *name; /* of what is being checked */
    json_t *findings; /* NULL: they are printed */
    size_t problems;
};

/*
 * finding(x, verdict, advice, format, ...): report what the check has found, which is done once for each
 * finding.
 *
 * advice      what to do about it; NULL: nothing
 */
void finding(struct examination *x, enum verdict verdict, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

struct check {
    const char *name;
    void (*run)(struct examination *x);
};

/* The row after the last has no name. */
extern const struct check doctor_checks[];

/* The forms that are evaluated in a session, in this order. */
enum question { QUESTION_SUM, QUESTION_FACTS };
extern const char *const doctor_questions[];

#endif
