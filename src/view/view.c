/*
 * `cl-mcp-server view`: serves the page on a loopback address, prints its link and opens it. Ends a minute
 * after the last tab, or at a signal.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "cli/commands.h"
#include "http/listener.h"
#include "proc/loop_handle.h"
#include "view/servers.h"
#include "view/visitor.h"

#define KEEP_ALIVE_MS 15000

struct view {
    uv_loop_t *loop;
    struct visitors visitors;
    char address[160];   /* where it listens */
    uv_process_t opener; /* of the browser */
    uv_signal_t signals[2];
    uv_timer_t *end; /* runs while there is no tab */
    uv_timer_t *tick;
    unsigned linger_s; /* after the last tab */
};

struct view_options {
    bool opens_nothing, is_read_only;
    const char *address, *linger;
};

static bool parse(struct view_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--no-open") == 0)
            options->opens_nothing = true;
        else if (strcmp(argv[i], "--read-only") == 0)
            options->is_read_only = true;
        else if ((value = command_option(argv, &i, "--listen")) != NULL)
            options->address = value;
        else if ((value = command_option(argv, &i, "--linger")) != NULL)
            options->linger = value;
        else
            return false;
    }
    return options->linger[0] != '\0' && strspn(options->linger, "0123456789") == strlen(options->linger) &&
           strlen(options->linger) < 7;
}

static void on_end(uv_timer_t *timer)
{
    uv_stop(((struct view *)timer->data)->loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
    uv_stop(handle->loop);
}

static void on_tabs(void *arg)
{
    struct view *view = arg;
    if (view->visitors.tabs > 0)
        uv_timer_stop(view->end);
    else
        uv_timer_start(view->end, on_end, view->linger_s * 1000ULL, 0);
}

static void on_servers(void *arg)
{
    visitors_tell(&((struct view *)arg)->visitors);
}

static void on_tick(uv_timer_t *timer)
{
    visitors_keep_alive(&((struct view *)timer->data)->visitors);
}

/* The browser outlives the view, and neither reads nor writes the terminal. */
static void open_browser(struct view *view, char *link)
{
    char program[] = "xdg-open";
    char *arguments[] = {program, link, NULL};
    uv_process_options_t options = {.file = program, .args = arguments, .flags = UV_PROCESS_DETACHED};
    if (uv_spawn(view->loop, &view->opener, &options) != 0)
        fprintf(stderr, "No browser can be opened here (xdg-open is missing): open the link yourself.\n");
    uv_unref((uv_handle_t *)&view->opener);
}

static bool begin(struct view *view, const struct view_options *options, struct err *err)
{
    struct visitors *visitors = &view->visitors;
    struct listener listener;
    if (!listener_open(&listener, options->address, err))
        return false;
    if (!listener.is_loopback || listener.is_unix)
        return err_set(err, ERR_INVALID, "--listen takes an address of this machine only, not %s",
                       options->address);
    snprintf(view->address, sizeof view->address, "%s", listener.name);
    if (!visitors_init(visitors, &listener, err))
        return false;
    visitors->servers = servers_new(view->loop, on_servers, view);
    const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(view->loop, &view->signals[i]);
        uv_signal_start(&view->signals[i], on_signal, numbers[i]);
    }
    view->end = loop_handle_timer(view->loop, view);
    view->tick = loop_handle_timer(view->loop, view);
    uv_timer_start(view->tick, on_tick, KEEP_ALIVE_MS, KEEP_ALIVE_MS);
    return true;
}

/* The link stands alone on the first line of standard output, for programs that read it. */
static void announce(struct view *view, bool opens)
{
    char link[300];
    snprintf(link, sizeof link, "http://%s/?key=%s", view->address, view->visitors.key);
    printf("%s\n", link);
    fflush(stdout);
    if (servers_count(view->visitors.servers) == 0)
        fprintf(stderr, "No server runs yet; the page shows each one when it starts.\n");
    if (opens)
        open_browser(view, link);
}

static void end(struct view *view)
{
    visitors_fini(&view->visitors);
    servers_free(view->visitors.servers);
    loop_handle_free(view->end);
    loop_handle_free(view->tick);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&view->signals[i], NULL);
    uv_run(view->loop, UV_RUN_DEFAULT);
}

int view(int argc, char **argv)
{
    struct view_options options = {.address = "127.0.0.1:0", .linger = "60"};
    struct view view = {.loop = uv_default_loop(), .visitors = {.on_tabs = on_tabs}};
    struct err err;
    if (!parse(&options, argc, argv))
        return command_usage("view");
    view.linger_s = (unsigned)strtoul(options.linger, NULL, 10);
    view.visitors.loop = view.loop;
    view.visitors.arg = &view;
    view.visitors.is_read_only = options.is_read_only;
    if (!begin(&view, &options, &err)) {
        log_error("%s", err.message);
        return 1;
    }
    announce(&view, !options.opens_nothing);
    uv_run(view.loop, UV_RUN_DEFAULT);
    end(&view);
    return 0;
}
