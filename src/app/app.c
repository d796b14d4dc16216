/*
 * Responsible for the process as a whole: descriptors and signals that must be right before anything else,
 * and choosing between commands, building the core and serving.
 */
#include "app/app.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/build_core.h"
#include "app/server.h"
#include "cli/commands.h"
#include "options/options.h"

/* If descriptor 0, 1 or 2 is closed, the next file that is opened gets its number, and output for the
 * client would go to it. */
static void open_standard_descriptors(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
        ;
    if (fd > 2)
        close(fd);
}

static void print_help(bool is_all)
{
    printf("Usage: cl-mcp-server [OPTION]...\n"
           "       cl-mcp-server COMMAND [ARGUMENT]...\n"
           "Give AI agents a live Common Lisp over the Model Context Protocol.\n"
           "\nCommands:\n");
    commands_help(stdout);
    options_help(stdout, is_all);
    if (!is_all)
        printf("\ncl-mcp-server --help all prints every option, COMMAND --help how a command is called.\n");
}

static int run(const struct options *options)
{
    if (options->wants_help)
        print_help(options->wants_all_help);
    else if (options->wants_version)
        printf("cl-mcp-server %s\n", CL_MCP_VERSION);
    else if (options->build_core != NULL)
        return build_core(options->zygote.lisp, options->build_core);
    else
        return server_run(options);
    return 0;
}

int app_main(int argc, char **argv, const struct extension *extension)
{
    open_standard_descriptors();
    signal(SIGPIPE, SIG_IGN);
    /* A save that exceeds a limit on file sizes fails; it must not kill the server. */
    signal(SIGXFSZ, SIG_IGN);
    const struct command *command = command_find(argc > 1 ? argv[1] : NULL);
    if (command != NULL && argc == 3 && strcmp(argv[2], "--help") == 0)
        return command_help(command, stdout);
    if (command != NULL)
        return command->run(argc - 1, argv + 1);
    struct options options;
    bool is_parsed = options_parse(&options, argc, argv);
    options.http.connection.extension = extension;
    int status = is_parsed ? run(&options) : 2;
    options_fini(&options);
    return status;
}
