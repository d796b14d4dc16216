/*
 * How much memory the machine has left. Known on Linux only; elsewhere there is always enough.
 */
#ifndef PROC_MEMORY_H
#define PROC_MEMORY_H

#include <stdbool.h>

/* memory_is_short(): less than a twentieth of the machine's memory is available without swapping. */
bool memory_is_short(void);

#endif
