/*
 * What tools work on: made once by main, borrowed by every call.
 */
#ifndef TOOLS_TOOLBOX_H
#define TOOLS_TOOLBOX_H

#include <stdbool.h>

struct saved_store;
struct sessions;
struct zygote;

struct toolbox {
    struct sessions *sessions;
    struct zygote *zygote;
    struct saved_store *store;
    bool is_persistent; /* a saved session comes back when it is first named */
};

#endif
