/*
 * What the official conformance suite expects from a server under test: tools, resources and prompts with
 * given names and results.
 *
 * Source      the suite's scenarios, @modelcontextprotocol/conformance 0.2.0-alpha.12 and 0.1.16
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

struct extension;

/* conformance_new(): given. conformance_free(extension). */
struct extension *conformance_new(void);
void conformance_free(struct extension *extension);

#endif
