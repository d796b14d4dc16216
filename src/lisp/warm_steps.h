/*
 * What a zygote loads before its first copy, step by step: the user's init file, the files of --load and the
 * systems of --preload. A step that ends the process or makes it useless is left out the next time.
 */
#ifndef LISP_WARM_STEPS_H
#define LISP_WARM_STEPS_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/* In this order. */
enum warm_kind { WARM_USER_INIT, WARM_LOAD, WARM_PRELOAD, WARM_FINISH, WARM_KIND_COUNT };

struct warm_step {
    enum warm_kind kind;
    const char *name; /* borrowed; NULL for the last */
    bool is_left_out;
};

struct warm_steps {
    struct warm_step *all;
    size_t count, at; /* ${at}: the current one */
};

/* warm_steps_add(steps, kind, name): append a step to ${steps}, which is zero or has steps. ${name} is
 * borrowed. warm_steps_fini(steps). */
void warm_steps_add(struct warm_steps *steps, enum warm_kind kind, const char *name);
void warm_steps_fini(struct warm_steps *steps);

/*
 * warm_steps_write(steps, request, limit_ms):
 * Write the request for the current step, or for the next one if it is left out.
 *
 * request     borrowed; appended to
 * limit_ms    out: the time limit of the step
 * Returns     false: there are no more steps
 */
bool warm_steps_write(struct warm_steps *steps, struct strbuf *request, int *limit_ms);

/* warm_steps_is_init(steps): the current step is the user's init file. */
bool warm_steps_is_init(const struct warm_steps *steps);

/* warm_steps_leave_out(steps, why, notices): leave the current step out from now on; append the notice for
 * the user, in which ${why} follows "Loading the file F". warm_steps_readmit(steps): leave none out. */
void warm_steps_leave_out(struct warm_steps *steps, const char *why, struct strbuf *notices);
void warm_steps_readmit(struct warm_steps *steps);

/* warm_steps_name_output(steps, notices): append the line that introduces what the current step printed. */
void warm_steps_name_output(const struct warm_steps *steps, struct strbuf *notices);

#endif
