/*
 * Whether a deadline counts.
 */
#include "session/patience.h"

#include "proc/process.h"

#define LAST_LOOK_MS 500
#define MOST_TIMES 100

void patience_begin(struct patience *p, int limit_ms, pid_t pid)
{
    *p = (struct patience){.limit_ms = limit_ms, .pid = pid};
    if (limit_ms > 0 && pid > 0)
        p->used_ms = process_time_ms(pid);
}

int patience_more_ms(struct patience *p, pid_t pid)
{
    if (p->limit_ms == 0)
        return 0;
    if (pid != p->pid) {
        /* Its time begins at 0. */
        p->pid = pid;
        p->used_ms = 0;
    }
    char state = pid > 0 ? process_state(pid) : '?';
    bool wants_to_run = state == 'R' || state == 'D';
    if (wants_to_run && p->times < MOST_TIMES &&
        process_time_ms(pid) < p->used_ms + (uint64_t)p->limit_ms / 2) {
        p->times++;
        p->has_looked = false;
        return p->limit_ms;
    }
    if (p->has_looked)
        return 0;
    p->has_looked = true;
    return p->limit_ms < LAST_LOOK_MS ? p->limit_ms : LAST_LOOK_MS;
}
