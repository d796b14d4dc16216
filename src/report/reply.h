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

/* reply_add_string(out, value): append the string ${value}; nothing if it is not a string. */
void reply_add_string(struct strbuf *out, const struct sexp *value);

/* reply_is_same(a, b): are both strings, and the same? */
bool reply_is_same(const struct sexp *a, const struct sexp *b);

/*
 * reply_fill(out, list, template), reply_fill_each(out, lists, template):
 * Append ${template}, filled in with the values of a property list or a reply; the same for each of ${lists}.
 * NAME is a key or, from 0, the number of an item; left out, it means the list itself.
 *
 *   {NAME}       the string or the integer; nothing for any other value
 *   {}           the item of a list, which may also be a keyword; {^} is that in upper case
 *   {,NAME}      the integer with its digits in groups, or how many items the list has
 *   {#NAME cat}  the same with a noun: "1 cat", "2 cats"
 *   {NAME>  }    the string, each of its lines after "  "
 *   {NAME/  }    the string, each of its lines but the first after "  "
 *   {NAME?TEXT}  TEXT, which is a template, if the value is true: not nil, "", 0 or less
 *   {NAME!TEXT}  TEXT if it is not
 *   {NAME=WORD?TEXT}  TEXT if the value is that string or keyword
 *   {NAME:15}    the integer in a column of 15 characters; {NAME:15ms}: microseconds as milliseconds
 *   {NAME*, |TEXT}  TEXT for each item of the list, with ", " between two
 */
void reply_fill(struct strbuf *out, const struct sexp *list, const char *template);
void reply_fill_each(struct strbuf *out, const struct sexp *lists, const char *template);

#endif
