/*
 * Responsible for deciding whether a deadline counts.
 */
#include "proc/cpu_grace.h"

#include "proc/process.h"

#define LAST_LOOK_MS 500
#define MOST_TIMES 100

void cpu_grace_begin(struct cpu_grace *g, int limit_ms, pid_t pid)
{
    *g = (struct cpu_grace){.limit_ms = limit_ms, .pid = pid};
    if (limit_ms > 0 && pid > 0)
        g->used_ms = process_time_ms(pid);
}

int cpu_grace_more_ms(struct cpu_grace *g, pid_t pid)
{
    if (g->limit_ms == 0)
        return 0;
    if (pid != g->pid) {
        /* Its CPU time is counted from its start. */
        g->pid = pid;
        g->used_ms = 0;
    }
    char state = pid > 0 ? process_state(pid) : '?';
    bool wants_to_run = state == 'R' || state == 'D';
    if (wants_to_run && g->times < MOST_TIMES &&
        process_time_ms(pid) < g->used_ms + (uint64_t)g->limit_ms / 2) {
        g->times++;
        g->has_looked = false;
        return g->limit_ms;
    }
    if (g->has_looked)
        return 0;
    g->has_looked = true;
    return g->limit_ms < LAST_LOOK_MS ? g->limit_ms : LAST_LOOK_MS;
}
