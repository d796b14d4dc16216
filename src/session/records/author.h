/*
 * Who asked for an operation or caused an event, as events name them.
 */
#ifndef SESSION_RECORDS_AUTHOR_H
#define SESSION_RECORDS_AUTHOR_H

#define AUTHOR_NAME_SIZE 48 /* with its NUL */

enum author_kind {
    AUTHOR_AGENT,
    AUTHOR_PERSON, /* through the window */
    AUTHOR_IMAGE,  /* a person at work in the image that is joined, or its program */
};

/* Plain data, copied by value. */
struct author {
    enum author_kind kind;
    char name[AUTHOR_NAME_SIZE]; /* of the client program, valid UTF-8; "": not known */
};

#endif
