/*
 * Responsible for the case that there is no extension.
 */
#include "mcp/extension.h"

#include <stddef.h>

void extension_add_items(const struct extension *extension, struct strbuf *out, const char *list)
{
    if (extension != NULL)
        extension->add_items(extension, out, list);
}
