/*
 * hook: reads what a client writes when its model edits a file, and answers. The exit status is 0 whatever
 * the verdict; 1, which blocks nothing, if the input is not understood.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/hook_answer.h"

enum { MOST_INPUT_BYTES = 16 << 20 };

static bool read_input(struct strbuf *input, struct err *err)
{
    char piece[1 << 16];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_SYSTEM, errno, "standard input");
        if (got == 0)
            return true;
        if (!strbuf_add(input, piece, (size_t)got))
            return err_set(err, ERR_TOO_LARGE, "the hook's input is larger than %d bytes", MOST_INPUT_BYTES);
    }
}

int hook(int argc, char **argv)
{
    struct strbuf input = {.limit = MOST_INPUT_BYTES}, answer = {0};
    struct err err;
    if (argc > 1)
        return command_usage(argv[0]);
    bool is_good = read_input(&input, &err) && hook_answer(strbuf_string(&input), input.len, &answer, &err);
    if (!is_good)
        fprintf(stderr, "cl-mcp-server hook: %s\n", err.message);
    fwrite(strbuf_string(&answer), 1, answer.len, stdout);
    strbuf_fini(&input);
    strbuf_fini(&answer);
    return is_good ? 0 : 1;
}
