/*
 * Responsible for whom the view admits, and for what a request of theirs means.
 */
#include "view/visitor.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "http/daemon.h"
#include "http/header_values.h"
#include "view/page_files.h"
#include "view/passage.h"
#include "view/read_only.h"
#include "view/servers.h"

static bool refuse(struct exchange *e, unsigned status, const char *message)
{
    exchange_refuse_with(e, &(struct http_reply){.status = status, .message = message});
    return false;
}

/* The name is new in each view, so no page that the browser has ever opened shares its origin: what such a
 * page left there, cookies, storage or a service worker, does not concern the view. */
static bool is_own_host(const struct visitors *all, struct exchange *e)
{
    char own[sizeof all->host + 8];
    const char *host = exchange_header(e, "Host"), *origin = exchange_header(e, "Origin");
    snprintf(own, sizeof own, "http://%s", all->host);
    return host != NULL && strcasecmp(host, all->host) == 0 &&
           (origin == NULL || strcasecmp(origin, own) == 0);
}

static bool has_secret(struct exchange *e, const char *name, const char *secret)
{
    const char *given = exchange_header(e, name);
    return given != NULL && secret_is(given, strlen(given), secret);
}

/* A header, because the page of another origin cannot send it: the browser asks with OPTIONS first. */
static bool give_secret(struct visitors *all, struct exchange *e)
{
    if (all->is_key_used || !has_secret(e, "View-Key", all->key))
        return refuse(e, MHD_HTTP_FORBIDDEN,
                      "This link is not valid, or has been used. cl-mcp-server view prints a new one.\n");
    all->is_key_used = true;
    all->on_admitted(all->arg);
    exchange_refuse_with(e, &(struct http_reply){.status = MHD_HTTP_OK,
                                                 .message = all->secret,
                                                 .header = "Cache-Control",
                                                 .value = "no-store"});
    return false;
}

/* "/servers/ID/mcp"; NULL: it is another path */
static const char *id_of(const struct exchange *e, size_t *len)
{
    if (e->method != EXCHANGE_POST || strncmp(e->path, "/servers/", 9) != 0)
        return NULL;
    *len = strcspn(e->path + 9, "/");
    return strcmp(e->path + 9 + *len, "/mcp") == 0 ? e->path + 9 : NULL;
}

static bool is_watch(const struct exchange *e)
{
    return e->method == EXCHANGE_GET && strcmp(e->path, "/watch") == 0;
}

/* The files of the page are no secret. */
static bool admit(void *arg, struct exchange *e)
{
    struct visitors *all = arg;
    size_t id_len;
    if (!is_own_host(all, e))
        return refuse(e, MHD_HTTP_FORBIDDEN, "This Host or Origin is not the view's own.\n");
    if (e->method == EXCHANGE_GET)
        e->file = http_file_find(page_files, page_file_count, e->path);
    if (e->file != NULL)
        return true;
    if (e->method == EXCHANGE_GET && strcmp(e->path, "/secret") == 0)
        return give_secret(all, e);
    if (!has_secret(e, "View-Secret", all->secret))
        return refuse(e, MHD_HTTP_FORBIDDEN, "Open the link that cl-mcp-server view has printed.\n");
    e->principal = &all->person;
    return is_watch(e) || id_of(e, &id_len) != NULL ||
           refuse(e, MHD_HTTP_NOT_FOUND, "There is nothing at this address.\n");
}

static void on_headers(void *arg, struct exchange *e)
{
    checks_run(&((struct visitors *)arg)->rules, e);
}

static void tell(const struct visitors *all, struct stream *tab)
{
    struct strbuf out = {0};
    strbuf_adds(&out, "{\"servers\":");
    servers_write(all->servers, &out);
    strbuf_addf(&out, ",\"read-only\":%s}", all->is_read_only ? "true" : "false");
    stream_send(tab, out.bytes, out.len);
    strbuf_fini(&out);
}

/* A tab is known by its argument. */
static void take_tab(struct visitors *all, struct exchange *e)
{
    struct stream *tab = stream_new(NULL, 0);
    tab->ends_with_reader = true;
    e->arg = &all->tabs;
    exchange_stream(e, tab);
    tell(all, tab);
    if (all->tabs++ == 0)
        all->on_tabs(all->arg);
}

static void pass_on(struct visitors *all, struct exchange *e)
{
    size_t len;
    const char *id = id_of(e, &len);
    if (all->is_read_only && !read_only_allows(strbuf_string(&e->body), e->body.len))
        refuse(e, MHD_HTTP_FORBIDDEN, "The view was opened with --read-only.\n");
    else
        e->arg = passage_begin(all->loop, e, servers_connect(all->servers, id, len));
}

static void on_request(void *arg, struct exchange *e)
{
    if (e->file != NULL)
        exchange_answer(e, MHD_HTTP_OK, e->file->bytes, e->file->len);
    else if (is_watch(e))
        take_tab(arg, e);
    else
        pass_on(arg, e);
}

static void on_gone(void *arg, struct exchange *e)
{
    exchange_drop(e);
}

static void on_end(void *arg, struct exchange *e)
{
    struct visitors *all = arg;
    if (e->arg != &all->tabs)
        passage_end(e->arg);
    else if (--all->tabs == 0)
        all->on_tabs(all->arg);
}

bool visitors_init(struct visitors *all, struct listener listeners[VISITORS_LISTENERS], struct err *err)
{
    char name[RANDOM_SECRET_DIGITS + 1];
    if (!random_secret(all->key) || !random_secret(all->secret) || !random_secret(name))
        return err_set(err, ERR_SYSTEM, "the system has no random numbers available");
    snprintf(all->host, sizeof all->host, "%s.localhost%.6s", name, strrchr(listeners[0].name, ':'));
    all->person.name = all->no_name;
    all->rules = (struct check_rules){.principals = &all->nobody, .admit = admit, .arg = all};
    all->events = (struct exchange_events){
        .on_headers = on_headers, .on_request = on_request, .on_gone = on_gone, .on_end = on_end, .arg = all};
    list_init(&all->events.exchanges);
    if (!mhd_load(&all->mhd, err))
        return false;
    const struct daemon_options options = {.loop = all->loop,
                                           .mhd = &all->mhd,
                                           .serves_page = true,
                                           .handle = exchange_handle,
                                           .on_completed = exchange_completed,
                                           .arg = &all->events};
    for (size_t i = 0; i < VISITORS_LISTENERS; i++)
        if (listeners[i].descriptor >= 0 &&
            (all->daemons[i] = daemon_new(&listeners[i], &options, err)) == NULL)
            return false;
    return true;
}

void visitors_fini(struct visitors *all)
{
    /* The library cannot stop while a connection is suspended. */
    list_each(struct exchange, e, &all->events.exchanges, node)
        exchange_drop(e);
    for (size_t i = 0; i < VISITORS_LISTENERS; i++) {
        if (all->daemons[i] != NULL)
            daemon_run(all->daemons[i]);
        daemon_free(all->daemons[i]);
    }
    mhd_unload(&all->mhd);
}

void visitors_tell(struct visitors *all)
{
    list_each(struct exchange, e, &all->events.exchanges, node)
        if (e->arg == &all->tabs && e->stream != NULL)
            tell(all, e->stream);
}

void visitors_keep_alive(struct visitors *all)
{
    list_each(struct exchange, e, &all->events.exchanges, node)
        if (e->arg == &all->tabs && e->stream != NULL)
            stream_keep_alive(e->stream);
}
