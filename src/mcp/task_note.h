/*
 * The tasks that an owner's servers made, in one file: after a restart a client learns what became of its
 * task. A server that is killed can write nothing at its end, so the file is written when a task is made.
 */
#ifndef MCP_TASK_NOTE_H
#define MCP_TASK_NOTE_H

#include <stdbool.h>
#include <time.h>

#include "base/random.h"

#define TASK_ID_DIGITS RANDOM_SECRET_DIGITS

struct task_note;

/* task_note_new(directory): the file "tasks" there, where other servers may write too; copied.
 * task_note_free(NULL) does nothing. */
struct task_note *task_note_new(const char *directory);
void task_note_free(struct task_note *note);

/* task_note_add(note, id): a task was made; ${id} has TASK_ID_DIGITS. If that cannot be written, it is
 * logged, and the task is not found later. */
void task_note_add(struct task_note *note, const char *id);

/* task_note_is_lost(note, id, made): another server, or an earlier process of this one, made it at ${made}.
 * The last 64 are known. */
bool task_note_is_lost(const struct task_note *note, const char *id, time_t *made);

#endif
