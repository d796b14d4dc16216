/*
 * Responsible for telling the process of an image from another one, and for whether it runs.
 */
#include "join/image_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lisp/last_words.h"
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

#define MOST_READ 4096

/* SBCL's low-level debugger has the last word in the file that is the descriptor ${fd} of ${pid}. */
static bool shows_ldb(int64_t pid, int fd)
{
    char path[64], end[MOST_READ + 1];
    struct stat status;
    ssize_t len = 0;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)pid, fd);
    /* To open another kind, such as a pipe, could take what somebody else is to read. */
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        off_t start = status.st_size > MOST_READ ? status.st_size - MOST_READ : 0;
        len = pread(file, end, MOST_READ, start);
        close(file);
    }
    end[len > 0 ? len : 0] = '\0';
    return last_words_are_fatal(end) || last_words_name_heap(end) || strstr(end, "ldb> ") != NULL;
}

const char *image_process_why_silent(const struct image_process *process)
{
    struct process_stat stat;
    if (!process->is_here || !is_running_here(process, &stat))
        return "";
    if (stat.state == 'T' || stat.state == 't')
        return "; it is stopped by a signal";
    return shows_ldb(process->pid, STDOUT_FILENO) || shows_ldb(process->pid, STDERR_FILENO)
               ? "; its heap may be full (ldb), as its output shows: then it has to be started again"
               : "";
}

bool image_process_has_ended(const struct image_process *process)
{
    struct process_stat stat;
    return process->is_here && (!is_running_here(process, &stat) || stat.is_ending);
}
