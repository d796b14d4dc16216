/*
 * Responsible for what the clients of a toolbox may call.
 */
#include "calls/toolbox.h"

#include "calls/tool.h"

bool toolbox_offers(const struct toolbox *t, const struct tool *tool)
{
    return t == NULL || !t->only_looks || (tool->is_read_only && !tool->evaluates_code);
}
