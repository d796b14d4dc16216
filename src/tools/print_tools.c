/*
 * print_tools: docs/tools.md on standard output. Part of the build, not of the installation.
 */
#include <stdio.h>

#include "base/strbuf.h"
#include "tools/document.h"

int main(void)
{
    struct strbuf page;
    strbuf_init(&page, 0);
    struct err err;
    if (!tools_document(&page, TOOL_EXAMPLES, &err)) {
        fprintf(stderr, "print_tools: %s\n", err.message);
        return 1;
    }
    bool ok = fwrite(page.bytes, 1, page.len, stdout) == page.len && fflush(stdout) == 0;
    strbuf_fini(&page);
    return ok ? 0 : 1;
}
