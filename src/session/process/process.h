/*
 * A session's process: requesting it from the zygote, sending it requests, forgetting it.
 */
#ifndef SESSION_PROCESS_PROCESS_H
#define SESSION_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lisp/worker.h"

struct session;

/* process_request(s): ask the zygote for a process: STARTING. process_request_again(s): one ended before it
 * was ready; false, with the reason for give_up, if that was the third. process_came(s): its hello has
 * arrived. */
void process_request(struct session *s);
bool process_request_again(struct session *s);
void process_came(struct session *s);

/* process_is_first(s): note that the process is not a copy of another one of this session. */
void process_is_first(struct session *s);

/* process_start_image(s, image, directory, least_heap_mib, err): start the process from that file. It gets
 * the sandbox of the session and the heap size of its limits, or ${least_heap_mib} if that is more; with 0
 * the heap size and the sandbox of the process before it. */
bool process_start_image(struct session *s, const char *image, const char *directory, int least_heap_mib,
                         struct err *err);

/* process_forget(s): the process no longer exists: ABSENT. Snapshots stay. */
void process_forget(struct session *s);

/* process_events(s): the callbacks for the worker of the process. */
struct worker_events process_events(struct session *s);

/* process_call(s, request): send it a request of the server's own. */
void process_call(struct session *s, const char *request);

/* process_read_tools(s, tools): a scratch copy has reported the tools that its code defines; NULL: none. A
 * list that is too long is left out, and logged. process_take_tools(s): they are those of the process now.
 * process_note_tools(s, tools): both. */
void process_read_tools(struct session *s, const struct sexp *tools);
void process_take_tools(struct session *s);
void process_note_tools(struct session *s, const struct sexp *tools);

/* process_programs(s, out, capacity): the running programs that its code has started, without their own
 * children, including those that a dead process left behind. Programs that have cleared their environment
 * are not found. Returns the number written. */
size_t process_programs(const struct session *s, pid_t *out, size_t capacity);

/* process_end_programs(s): its process has ended: send SIGKILL to the programs that it left running. */
void process_end_programs(struct session *s);

#endif
