/*
 * Responsible for the steps that a zygote performs before its first copy: their requests, limits and notices.
 */
#include "lisp/warm_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "wire/sexp.h"

static const struct {
    const char *what, *key;
    int limit_ms;
} kinds[WARM_KIND_COUNT] = {
    [WARM_USER_INIT] = {"the init file", "user-init", 10000},
    [WARM_LOAD] = {"the file", "load", 600000},
    [WARM_PRELOAD] = {"the system", "preload", 1800000},
    [WARM_FINISH] = {"", "finish", 20000},
};

void warm_steps_add(struct warm_steps *steps, enum warm_kind kind, const char *name)
{
    steps->all = xrealloc(steps->all, (steps->count + 1) * sizeof *steps->all);
    steps->all[steps->count++] = (struct warm_step){.kind = kind, .name = name};
}

void warm_steps_fini(struct warm_steps *steps)
{
    free(steps->all);
}

bool warm_steps_write(struct warm_steps *steps, struct strbuf *request, int *limit_ms)
{
    while (steps->at < steps->count && steps->all[steps->at].is_left_out)
        steps->at++;
    if (steps->at == steps->count)
        return false;
    const struct warm_step *step = &steps->all[steps->at];
    bool is_list = step->kind == WARM_LOAD || step->kind == WARM_PRELOAD;
    sexp_write_symbol(request, "warm");
    sexp_write_symbol(request, kinds[step->kind].key);
    if (is_list)
        sexp_write_open(request);
    if (step->name == NULL)
        sexp_write_boolean(request, true);
    else
        sexp_write_string(request, step->name, strlen(step->name));
    if (is_list)
        sexp_write_close(request);
    *limit_ms = kinds[step->kind].limit_ms;
    return true;
}

bool warm_steps_is_init(const struct warm_steps *steps)
{
    return steps->at < steps->count && steps->all[steps->at].kind == WARM_USER_INIT;
}

void warm_steps_leave_out(struct warm_steps *steps, const char *why, struct strbuf *notices)
{
    struct warm_step *step = &steps->all[steps->at];
    step->is_left_out = true;
    if (step->name != NULL)
        strbuf_addf(notices, "Loading %s %s %s; it was left out.\n", kinds[step->kind].what, step->name, why);
    else
        strbuf_addf(notices, "Making the image cheap to copy %s; sessions work without it.\n", why);
}

void warm_steps_readmit(struct warm_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        steps->all[i].is_left_out = false;
}

void warm_steps_name_output(const struct warm_steps *steps, struct strbuf *notices)
{
    const struct warm_step *step = &steps->all[steps->at];
    if (step->name != NULL)
        strbuf_addf(notices, "Printed while loading %s %s:\n", kinds[step->kind].what, step->name);
    else
        strbuf_adds(notices, "Printed while starting:\n");
}
