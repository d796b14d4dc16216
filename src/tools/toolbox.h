/*
 * What tools work on: made once by main, borrowed by every call.
 */
#ifndef TOOLS_TOOLBOX_H
#define TOOLS_TOOLBOX_H

struct sessions;
struct zygote;

struct toolbox {
    struct sessions *sessions;
    struct zygote *zygote;
};

#endif
