/*
 * The words for the places where systems are found.
 */
#ifndef TOOLS_PLACES_H
#define TOOLS_PLACES_H

struct sexp;

/* place_text(place): the words for the agent's name of a place (docs/agent-protocol.md, section 7); never
 * NULL. */
const char *place_text(const struct sexp *place);

#endif
