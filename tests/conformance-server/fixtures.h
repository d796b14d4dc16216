/*
 * The fixtures, by family. Each file has a table; to add a fixture: a row. Stays in this folder.
 */
#ifndef FIXTURES_H
#define FIXTURES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

struct request;

/* A tool or a prompt. */
struct fixture {
    const char *name;
    const char *rest; /* JSON members of its item in the list, a comma before each; NULL: a description and,
                         for a tool, no arguments */
    const char *content; /* its answer: the value of "content" or "messages"; NULL: run answers */
    bool is_error;
    void (*run)(struct request *r, const json_t *params);
};

extern const struct fixture content_tools[], asking_tools[], tasking_tools[],
    fixture_prompts[]; /* ends with a name of NULL */

/* inputs_take(r, params, key): the tools and the prompt whose results ask for input. ${key} is a secret
 * that marks the server's own state. */
bool inputs_take(struct request *r, const json_t *params, const char *key);
void inputs_add_items(struct strbuf *out, const char *list);

/* asking_take_response(response): a client has answered, perhaps a fixture's question. */
void asking_take_response(const json_t *response);

/* fixture_resources_take(r, params), fixture_resources_add_items(out, list): the same for everything but
 * tools. */
bool fixture_resources_take(struct request *r, const json_t *params);
void fixture_resources_add_items(struct strbuf *out, const char *list);

/* fixture_answer_text(r, format, ...): answer with one block of text. */
void fixture_answer_text(struct request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define FIXTURE_PNG                                                                                          \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define FIXTURE_WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="

#endif
