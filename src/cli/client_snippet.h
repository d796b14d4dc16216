/*
 * What a person pastes into a client's configuration.
 */
#ifndef CLI_CLIENT_SNIPPET_H
#define CLI_CLIENT_SNIPPET_H

#include "cli/client_config.h"

/* client_snippet_add(config, entry, out): append where the entry belongs, and the text for there. */
void client_snippet_add(const struct client_config *config, const json_t *entry, struct strbuf *out);

/* client_snippet_is_needed(config, entry): whether the client has another entry, or none. */
bool client_snippet_is_needed(const struct client_config *config, const json_t *entry);

#endif
