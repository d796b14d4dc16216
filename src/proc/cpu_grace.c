/*
 * Responsible for deciding whether a deadline counts.
 */
#include "proc/cpu_grace.h"

#include <sys/mman.h>
#include <time.h>

#include "proc/process.h"

#define SAMPLE_BYTES ((size_t)1 << 17)
#define SMALLEST_PAGE 4096
/* What the sample takes in a virtual machine; on the bare processor it takes a fifth. */
#define SAMPLE_US 60
#define MOST_STRETCH 40
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

static int64_t processor_time_us(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int cpu_grace_stretched(int limit_ms)
{
    int64_t begin_us = processor_time_us();
    char *sample = mmap(NULL, SAMPLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sample == MAP_FAILED)
        return limit_ms;
    /* Each page by itself: a huge one would come at once. */
    madvise(sample, SAMPLE_BYTES, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < SAMPLE_BYTES; at += SMALLEST_PAGE)
        *(volatile char *)(sample + at) = 1;
    munmap(sample, SAMPLE_BYTES);
    int64_t times = (processor_time_us() - begin_us) / SAMPLE_US;
    return limit_ms * (times < 1 ? 1 : times > MOST_STRETCH ? MOST_STRETCH : (int)times);
}
