/*
 * print_tools: prints docs/tools.md to standard output. It is part of the build and is not installed.
 */
#include <stdio.h>

#include "base/strbuf.h"
#include "tools/document.h"

int main(void)
{
    struct strbuf page = {0};
    struct err err;
    if (!tools_document(&page, TOOL_EXAMPLES, &err)) {
        fprintf(stderr, "print_tools: %s\n", err.message);
        return 1;
    }
    bool ok = fwrite(page.bytes, 1, page.len, stdout) == page.len && fflush(stdout) == 0;
    strbuf_fini(&page);
    return ok ? 0 : 1;
}
