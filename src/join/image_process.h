/*
 * Which process an image is: two images that answer at one address are told from each other by it, and on the
 * server's own machine it shows whether the process still runs.
 */
#ifndef JOIN_IMAGE_PROCESS_H
#define JOIN_IMAGE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sexp;

struct image_process {
    int64_t pid;            /* 0: none is known */
    uint64_t started_ticks; /* as in struct process_stat; 0: unknown */
    time_t started_at;      /* 0: unknown */
    bool is_here;           /* it runs on this machine, and its pid is the one that we see */
    int64_t session;        /* the agent's number of the session in it */
};

/* image_process_read(process, probe): from what agent/joined/probe.lisp returned. */
void image_process_read(struct image_process *process, const struct sexp *probe);

/* image_process_is(a, b): both are the same process. */
bool image_process_is(const struct image_process *a, const struct image_process *b);

/* image_process_why_silent(process): why a process that runs here does not answer, as the end of a sentence;
 * "" if it is not here or nothing shows why. What it prints is seen if that goes to a file. */
const char *image_process_why_silent(const struct image_process *process);

/* image_process_has_ended(process): it has, or is ending; false if it runs, or is not here. */
bool image_process_has_ended(const struct image_process *process);

#endif
