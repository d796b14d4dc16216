/*
 * `cl-mcp-server view`: serves the page on a loopback port, prints its link and opens it. Ends a minute
 * after the last tab, or at a signal.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/regular_file.h"
#include "base/runtime_directory.h"
#include "base/strbuf.h"
#include "cli/commands.h"
#include "http/listener.h"
#include "proc/loop_handle.h"
#include "view/servers.h"
#include "view/visitor.h"

#define KEEP_ALIVE_MS 15000
#define MOST_TRIES 20 /* for a port that is free at both addresses */

struct view {
    uv_loop_t *loop;
    struct visitors visitors;
    char guide[PATH_MAX]; /* the file that leads the browser to the link, until that is used; "": none */
    uv_process_t opener;  /* of the browser */
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

static void remove_guide(void *arg)
{
    struct view *view = arg;
    unlink(view->guide);
    view->guide[0] = '\0';
}

static void on_servers(void *arg)
{
    visitors_tell(&((struct view *)arg)->visitors);
}

static void on_tick(uv_timer_t *timer)
{
    visitors_keep_alive(&((struct view *)timer->data)->visitors);
}

/* Every process of this machine can read the arguments of a program, so the browser gets the name of a file
 * that only this user can read. */
static bool write_guide(struct view *view, const char *link, struct err *err)
{
    char directory[PATH_MAX];
    struct strbuf text = {0};
    if (!runtime_directory_make(directory, sizeof directory, err))
        return false;
    snprintf(view->guide, sizeof view->guide, "%.3900s/view-%d.html", directory, (int)getpid());
    strbuf_addf(&text,
                "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
                "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>cl-mcp-server</title>"
                "<a href=\"%s\">The page of cl-mcp-server view</a>\n",
                link, link);
    bool is_written = regular_file_write(view->guide, text.bytes, text.len, err);
    strbuf_fini(&text);
    return is_written;
}

/* The browser outlives the view, and neither reads nor writes the terminal. */
static void open_browser(struct view *view, const char *link)
{
    char program[] = "xdg-open";
    char *arguments[] = {program, view->guide, NULL};
    uv_process_options_t options = {.file = program, .args = arguments, .flags = UV_PROCESS_DETACHED};
    struct err err;
    if (!write_guide(view, link, &err))
        fprintf(stderr, "No browser is opened, because %s. Open the link yourself.\n", err.message);
    else if (uv_spawn(view->loop, &view->opener, &options) != 0)
        fprintf(stderr, "No browser can be opened here (xdg-open is missing): open the link yourself.\n");
    uv_unref((uv_handle_t *)&view->opener);
}

/* Browsers look for a name in localhost at 127.0.0.1 and at ::1, so nobody else may listen on this port at
 * either. */
static bool open_both(struct listener both[VISITORS_LISTENERS], const char *address, struct err *err)
{
    char twin[40], any[20];
    both[1] = (struct listener){.descriptor = -1};
    if (!listener_open(&both[0], address, err))
        return false;
    bool is_4 = strncmp(both[0].name, "127.0.0.1:", 10) == 0, is_6 = strncmp(both[0].name, "[::1]:", 6) == 0;
    const char *other = is_4 ? "[::1]" : "127.0.0.1", *port = strrchr(both[0].name, ':');
    snprintf(twin, sizeof twin, "%s%.6s", other, port == NULL ? "" : port);
    snprintf(any, sizeof any, "%s:0", other);
    struct listener probe;
    struct err ignored;
    if (!is_4 && !is_6)
        err_set(err, ERR_INVALID, "--listen takes a port of 127.0.0.1 or [::1] only, not %s", address);
    else if (listener_open(&both[1], twin, err) || !listener_open(&probe, any, &ignored))
        return true; /* at both, or this machine has only one of them */
    else
        listener_close(&probe);
    listener_close(&both[0]);
    return false;
}

static bool begin(struct view *view, const struct view_options *options, struct err *err)
{
    struct visitors *visitors = &view->visitors;
    struct listener both[VISITORS_LISTENERS];
    bool is_open = open_both(both, options->address, err);
    /* Another may have the port at the other address. */
    for (int i = 1; i < MOST_TRIES && !is_open && err->code == ERR_START; i++)
        is_open = open_both(both, options->address, err);
    if (!is_open || !visitors_init(visitors, both, err))
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
    /* Browsers do not send what follows "#". */
    snprintf(link, sizeof link, "http://%s/#key=%s", view->visitors.host, view->visitors.key);
    printf("%s\n", link);
    fflush(stdout);
    if (servers_count(view->visitors.servers) == 0)
        fprintf(stderr, "No server runs yet; the page shows each one when it starts.\n");
    if (opens)
        open_browser(view, link);
}

static void end(struct view *view)
{
    remove_guide(view);
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
    struct view view = {.loop = uv_default_loop(),
                        .visitors = {.on_tabs = on_tabs, .on_admitted = remove_guide}};
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
