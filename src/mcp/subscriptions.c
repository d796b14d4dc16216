/*
 * Responsible for subscriptions: what each client asked for, and turning news of sessions into notifications.
 * resources.c has the table of resources.
 */
#include "mcp/subscriptions.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/memory.h"
#include "calls/toolbox.h"
#include "events/events.h"
#include "mcp/client.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/resources.h"
#include "session/session.h"
#include "session/sessions.h"

struct subscriptions {
    struct client *client;
    struct sessions_watcher watcher;
    struct list all; /* of struct subscription: one for each listen, and one for resources/subscribe */
    size_t listens;
};

/* A resource that was subscribed to. News come many times a second, so its address is parsed once. */
struct watched {
    char *uri;           /* as the client wrote it */
    char *session;       /* NULL: it does not change */
    unsigned changed_by; /* 1u << enum sessions_news of ${session} */
};

/* What a client can subscribe to. */
struct subscription {
    struct list node;
    struct subscriptions *of;
    struct request *listen; /* NULL: it came by resources/subscribe */
    bool is_of_person;
    bool tools, resources; /* their lists */
    size_t count;
    struct watched watched[SUBSCRIPTIONS_MOST_URIS];
};

static struct subscription *subscription_new(struct subscriptions *all, struct request *listen)
{
    struct subscription *s = xcalloc(1, sizeof *s);
    s->of = all;
    s->listen = listen;
    list_init(&s->node);
    list_append(&all->all, &s->node);
    if (listen != NULL)
        all->listens++;
    return s;
}

static void watched_fini(struct watched *w)
{
    free(w->uri);
    free(w->session);
}

static void subscription_free(void *subscription)
{
    struct subscription *s = subscription;
    if (s->listen != NULL)
        s->of->listens--;
    struct toolbox *toolbox = s->of->client->options.toolbox;
    if (s->is_of_person && --toolbox->persons == 0)
        events_end_questions(toolbox->events);
    for (size_t i = 0; i < s->count; i++)
        watched_fini(&s->watched[i]);
    list_remove(&s->node);
    free(s);
}

static json_t *subscription_meta(const struct request *listen)
{
    struct jsonrpc_slice id = request_arrival(listen)->id;
    return json_pack("{s:o}", META_SUBSCRIPTION,
                     json_loadb(id.bytes, id.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
}

/* ${listen} NULL: to a client of the legacy era. ${params} are taken. */
static void notify(const struct client *client, struct request *listen, const char *method, json_t *params)
{
    struct strbuf text = {0};
    if (listen != NULL)
        json_object_set_new(params, "_meta", subscription_meta(listen));
    json_write_new(&text, json_pack("{s:s,s:s,s:o}", "jsonrpc", "2.0", "method", method, "params", params));
    if (listen != NULL)
        request_send(listen, &text);
    else
        client_notify(client, NULL, &text);
    strbuf_fini(&text);
}

/* Clients of the legacy era are notified about lists without asking, after their handshake. */
static void notify_of_list(const struct subscriptions *all, const char *method, bool is_tools)
{
    if (all->client->negotiated != NULL && all->client->has_shaken_hands)
        notify(all->client, NULL, method, json_object());
    list_each(struct subscription, s, &all->all, node)
        if (s->listen != NULL && (is_tools ? s->tools : s->resources))
            notify(all->client, s->listen, method, json_object());
}

static void notify_of_resources(const struct subscriptions *all, struct session *session,
                                enum sessions_news news)
{
    const unsigned bit = 1u << news;
    const char *name = session_name(session);
    if ((resources_changed_by() & bit) == 0)
        return;
    list_each(struct subscription, s, &all->all, node) {
        for (size_t i = 0; i < s->count; i++) {
            const struct watched *w = &s->watched[i];
            if ((w->changed_by & bit) != 0 && strcmp(w->session, name) == 0)
                notify(all->client, s->listen, "notifications/resources/updated",
                       json_pack("{s:s}", "uri", w->uri));
        }
    }
}

void subscriptions_tools_changed(struct request *r)
{
    notify_of_list(request_client(r)->subscriptions, "notifications/tools/list_changed", true);
}

static void on_news(void *arg, struct session *session, enum sessions_news news)
{
    const struct subscriptions *all = arg;
    if (news == SESSIONS_CAME || news == SESSIONS_WENT)
        notify_of_list(all, "notifications/resources/list_changed", false);
    if (news == SESSIONS_TOOLS || (news == SESSIONS_WENT && session_tools(session)->len > 0))
        notify_of_list(all, "notifications/tools/list_changed", true);
    notify_of_resources(all, session, news);
}

struct subscriptions *subscriptions_new(struct client *client)
{
    struct subscriptions *all = xcalloc(1, sizeof *all);
    all->client = client;
    list_init(&all->all);
    all->watcher.on_news = on_news;
    all->watcher.arg = all;
    list_init(&all->watcher.node);
    struct toolbox *toolbox = client->options.toolbox;
    if (toolbox != NULL && toolbox->sessions != NULL)
        sessions_watch(toolbox->sessions, &all->watcher);
    return all;
}

void subscriptions_free(struct subscriptions *all)
{
    if (all == NULL)
        return;
    sessions_unwatch(&all->watcher);
    while (!list_is_empty(&all->all))
        subscription_free(list_entry(all->all.next, struct subscription, node));
    free(all);
}

void subscriptions_end(struct subscriptions *all)
{
    list_each(struct subscription, s, &all->all, node) {
        struct request *listen = s->listen;
        if (listen == NULL)
            continue;
        subscription_free(s);
        request_accept(listen);
    }
}

/* What the client has subscribed to by resources/subscribe; made on first use. */
static struct subscription *by_subscribe(struct subscriptions *all)
{
    list_each(struct subscription, s, &all->all, node)
        if (s->listen == NULL)
            return s;
    return subscription_new(all, NULL);
}

/* The index of ${uri} in ${s}; the count if it is not there. */
static size_t find_uri(const struct subscription *s, const char *uri)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->watched[i].uri, uri) != 0)
        i++;
    return i;
}

static struct watched watch(const char *uri, size_t len)
{
    struct watched w = {.uri = xstrdup(uri)};
    w.changed_by = resource_changed_by(uri, len, &w.session);
    return w;
}

bool methods_resources_subscribe(struct request *r, const json_t *params)
{
    struct subscription *s = by_subscribe(request_client(r)->subscriptions);
    const char *uri = resources_check_uri(r, params);
    if (uri == NULL)
        return false;
    if (find_uri(s, uri) == s->count) {
        if (s->count == SUBSCRIPTIONS_MOST_URIS)
            return request_fail(r, JSONRPC_INVALID_PARAMS, "At most %d resources can be subscribed to",
                                SUBSCRIPTIONS_MOST_URIS);
        s->watched[s->count++] = watch(uri, strlen(uri));
    }
    return request_accept(r);
}

bool methods_resources_unsubscribe(struct request *r, const json_t *params)
{
    struct subscription *s = by_subscribe(request_client(r)->subscriptions);
    const json_t *uri = json_object_get(params, "uri");
    if (!json_is_string(uri))
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: uri must be a string");
    size_t i = find_uri(s, json_string_value(uri));
    if (i < s->count) {
        watched_fini(&s->watched[i]);
        s->watched[i] = s->watched[--s->count];
    }
    return request_accept(r);
}

/* What is wrong with the filter; NULL: nothing. */
static const char *wrong_filter(const json_t *filter)
{
    static const char *const flags[] = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"};
    const json_t *uris = json_object_get(filter, "resourceSubscriptions");
    if (!json_is_object(filter))
        return "notifications must be an object";
    size_t i;
    for (i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (json_object_get(filter, flags[i]) != NULL && !json_is_boolean(json_object_get(filter, flags[i])))
            return "notifications: toolsListChanged, promptsListChanged and resourcesListChanged must be "
                   "booleans";
    }
    if (uris == NULL)
        return NULL;
    if (!json_is_array(uris) || json_array_size(uris) > SUBSCRIPTIONS_MOST_URIS)
        return "notifications: resourceSubscriptions must be an array of at most 256 URIs";
    const json_t *uri;
    json_array_foreach(uris, i, uri)
        if (!json_is_string(uri))
            return "notifications: resourceSubscriptions must be an array of at most 256 URIs";
    return NULL;
}

/* The first message on the stream: the part of the filter that will be honoured. */
static void acknowledge(const struct subscription *s)
{
    json_t *honoured = json_object(), *uris = json_array();
    if (s->tools)
        json_object_set_new(honoured, "toolsListChanged", json_true());
    if (s->resources)
        json_object_set_new(honoured, "resourcesListChanged", json_true());
    for (size_t i = 0; i < s->count; i++)
        json_array_append_new(uris, json_string(s->watched[i].uri));
    if (s->count > 0)
        json_object_set(honoured, "resourceSubscriptions", uris);
    json_decref(uris);
    notify(s->of->client, s->listen, "notifications/subscriptions/acknowledged",
           json_pack("{s:o}", "notifications", honoured));
}

/*
 * The request stays open until it is cancelled or the server ends.
 *
 * Source      MCP 2026-07-28, subscriptions
 */
bool methods_subscriptions_listen(struct request *r, const json_t *params)
{
    struct subscriptions *all = request_client(r)->subscriptions;
    const json_t *filter = json_object_get(params, "notifications");
    const char *wrong = wrong_filter(filter);
    if (wrong != NULL)
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: %s", wrong);
    if (!request_may_send(r))
        return request_fail(r, JSONRPC_INVALID_REQUEST,
                            "subscriptions/listen is answered by events: send Accept: text/event-stream");
    if (all->listens >= SUBSCRIPTIONS_MOST_LISTENS)
        return request_fail(r, JSONRPC_INTERNAL_ERROR, "At most %d subscriptions can be open at once",
                            SUBSCRIPTIONS_MOST_LISTENS);
    struct subscription *s = subscription_new(all, r);
    s->tools = json_is_true(json_object_get(filter, "toolsListChanged"));
    s->resources = json_is_true(json_object_get(filter, "resourcesListChanged"));
    const json_t *uri;
    size_t i;
    json_array_foreach(json_object_get(filter, "resourceSubscriptions"), i, uri) {
        const char *text = json_string_value(uri);
        struct watched w = watch(text, json_string_length(uri));
        if (w.changed_by != 0 && find_uri(s, text) == s->count)
            s->watched[s->count++] = w;
        else
            watched_fini(&w);
    }
    /* A person may only look on. */
    s->is_of_person = client_author(request_client(r), params).kind == AUTHOR_PERSON && s->count > 0 &&
                      json_is_true(json_object_get(params, "answersQuestions")) &&
                      request_client(r)->options.toolbox != NULL;
    if (s->is_of_person)
        request_client(r)->options.toolbox->persons++;
    request_await(r, s, subscription_free);
    request_stays_open(r);
    acknowledge(s);
    return true;
}
