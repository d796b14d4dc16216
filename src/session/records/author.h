/*
 * Who asked for an operation, as events name them.
 */
#ifndef SESSION_RECORDS_AUTHOR_H
#define SESSION_RECORDS_AUTHOR_H

#include <stdbool.h>

#define AUTHOR_NAME_SIZE 48 /* with its NUL */

/* Plain data, copied by value. */
struct author {
    bool is_person;              /* a person, through the window; otherwise an agent */
    char name[AUTHOR_NAME_SIZE]; /* of the client program, valid UTF-8; "": not known */
};

#endif
