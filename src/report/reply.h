/*
 * Access to a reply of the agent. A reply is a list (ID :ok KEY VALUE ...). Nothing here fails: an absent
 * value is nil, zero or no text.
 */
#ifndef REPORT_REPLY_H
#define REPORT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sexp;
struct strbuf;

/* reply_get(reply, key): the value of ${key}, or NULL. */
const struct sexp *reply_get(const struct sexp *reply, const char *key);

/* reply_integer(reply, key): an integer. reply_count(reply, key): the same, with 0 for a negative one. */
int64_t reply_integer(const struct sexp *reply, const char *key);
size_t reply_count(const struct sexp *reply, const char *key);

/* reply_flag(reply, key): whether the value is true, that is, not nil. */
bool reply_flag(const struct sexp *reply, const char *key);

/* reply_add(out, reply, key): append the string value of ${key}. reply_add_string(out, value): append the
 * string ${value}. Both append nothing if the value is not a string. */
void reply_add(struct strbuf *out, const struct sexp *reply, const char *key);
void reply_add_string(struct strbuf *out, const struct sexp *value);

/* reply_fill(out, list, template): append ${template}, in which {0} stands for the first item of ${list}, and
 * {name} for the value of :name in a property list or a reply; nothing for one that is not a string or an
 * integer. reply_fill_each(out, lists, template): the same for each of ${lists}. */
void reply_fill(struct strbuf *out, const struct sexp *list, const char *template);
void reply_fill_each(struct strbuf *out, const struct sexp *lists, const char *template);

/* reply_add_list(out, before, list, separator, after): append ${before}, the strings, integers and symbols of
 * a list, and ${after}; nothing if the list is empty. */
void reply_add_list(struct strbuf *out, const char *before, const struct sexp *list, const char *separator,
                    const char *after);

#endif
