/*
 * The words for the places where systems are found.
 */
#ifndef TOOLS_SYSTEM_ORIGINS_H
#define TOOLS_SYSTEM_ORIGINS_H

struct sexp;

/* system_origin_text(place): the words for the agent's name of a place (docs/agent-protocol.md, section 7);
 * never NULL. */
const char *system_origin_text(const struct sexp *place);

#endif
