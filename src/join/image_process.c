/*
 * Responsible for telling the process of an image from another one, and for whether it runs.
 */
#include "join/image_process.h"

#include <stdlib.h>
#include <unistd.h>

#include "proc/process.h"
#include "wire/sexp.h"

static bool is_running_here(const struct image_process *process, struct process_stat *stat)
{
    return process->started_ticks != 0 && process_stat((pid_t)process->pid, stat) &&
           stat->started_ticks == process->started_ticks;
}

void image_process_read(struct image_process *process, const struct sexp *probe)
{
    const char *line = sexp_string(sexp_get(probe, 0, "stat"), NULL);
    const char *uptime = sexp_string(sexp_get(probe, 0, "uptime"), NULL);
    struct process_stat stat;
    *process = (struct image_process){.pid = sexp_integer(sexp_get(probe, 0, "pid"), 0)};
    if (process->pid <= 0 || process->pid > INT32_MAX || line == NULL || !process_stat_parse(line, &stat))
        return;
    process->started_ticks = stat.started_ticks;
    /* Another machine that runs a process with this number for as long, to 10 ms, does not happen. */
    process->is_here = is_running_here(process, &stat);
    double age = (uptime == NULL ? 0 : strtod(uptime, NULL)) -
                 (double)stat.started_ticks / (double)sysconf(_SC_CLK_TCK);
    if (age >= 0 && age < 1e9)
        process->started_at = time(NULL) - (time_t)age;
}

bool image_process_is(const struct image_process *a, const struct image_process *b)
{
    return a->pid == b->pid && a->started_ticks == b->started_ticks;
}

bool image_process_has_ended(const struct image_process *process)
{
    struct process_stat stat;
    return process->is_here && (!is_running_here(process, &stat) || stat.is_ending);
}
