/*
 * Responsible for sessions by Mcp-Session-Id: their ids, their streams and their number.
 */
#include "http/http_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "calls/toolbox.h"
#include "http/limits.h"
#include "http/principals.h"
#include "http/stream.h"
#include "mcp/connection.h"
#include "session/sessions.h"

#define PREFIX "http-"
#define NAME_DIGITS 8

bool http_session_names(const char *name)
{
    size_t prefix = strlen(PREFIX);
    return strncmp(name, PREFIX, prefix) == 0 && strspn(name + prefix, "0123456789abcdef") == NAME_DIGITS &&
           name[prefix + NAME_DIGITS] == '\0';
}

struct http_session *http_session_new(struct principal *principal, const char *node,
                                      const struct connection_options *options)
{
    struct http_session *s = xcalloc(1, sizeof *s);
    char secret[RANDOM_SECRET_DIGITS + 1];
    if (!random_secret(secret)) {
        free(s);
        return NULL;
    }
    snprintf(s->id, sizeof s->id, "%.*s%s%s", HTTP_MOST_NODE_BYTES, node == NULL ? "" : node,
             node == NULL ? "" : "-", secret);
    s->principal = principal;
    list_init(&s->node);
    list_init(&s->streams);
    list_init(&s->posts);
    event_log_init(&s->log, HTTP_MOST_EVENTS, HTTP_MOST_EVENT_BYTES);
    s->unasked = stream_new(&s->log, 0);
    /* The id is a secret; the name uses a part of it that does not reveal the rest. */
    snprintf(s->lisp_session, sizeof s->lisp_session, PREFIX "%.*s", NAME_DIGITS, secret);
    struct connection_options own = *options;
    own.default_session = s->lisp_session;
    own.initializes_once = true;
    own.send_arg = s;
    s->connection = connection_new(&own);
    return s;
}

/* No request is under way and no stream is read. */
static bool is_idle(const struct http_session *s)
{
    return list_is_empty(&s->posts) && s->unasked->reader == NULL;
}

void http_session_close_lisp(struct http_session *s)
{
    struct session *lisp = sessions_find(s->principal->toolbox->sessions, s->lisp_session);
    if (lisp != NULL)
        sessions_close_later(lisp);
}

static void end_unused(struct http_session *s)
{
    http_session_close_lisp(s);
    http_session_free(s);
}

static void make_room(struct principal *principal, uint64_t now_ms)
{
    struct http_session *longest = NULL;
    list_each(struct http_session, s, &principal->sessions, node)
        if (is_idle(s) && (longest == NULL || s->used_ms < longest->used_ms))
            longest = s;
    if (longest != NULL && now_ms - longest->used_ms > HTTP_SESSION_MAKES_ROOM_MS)
        end_unused(longest);
}

void http_session_expire(struct principal *principal, uint64_t now_ms)
{
    list_each(struct http_session, s, &principal->sessions, node)
        if (is_idle(s) && now_ms - s->used_ms > HTTP_SESSION_IDLE_MS)
            end_unused(s);
}

bool http_session_publish(struct http_session *s, uint64_t now_ms)
{
    if (s->principal->session_count >= HTTP_MOST_SESSIONS)
        make_room(s->principal, now_ms);
    if (s->principal->session_count >= HTTP_MOST_SESSIONS)
        return false;
    list_append(&s->principal->sessions, &s->node);
    s->principal->session_count++;
    s->used_ms = now_ms;
    return true;
}

struct http_session *http_session_find(const struct principal *principal, const char *id)
{
    list_each(struct http_session, s, &principal->sessions, node)
        if (strcmp(s->id, id) == 0)
            return s;
    return NULL;
}

struct stream *http_session_open_stream(struct http_session *s)
{
    struct stream *stream = stream_new(&s->log, ++s->last_stream);
    list_append(&s->streams, &stream->node);
    return stream;
}

struct stream *http_session_stream(struct http_session *s, uint64_t id, bool *is_over)
{
    *is_over = false;
    if (id == 0)
        return s->unasked;
    if (id > s->last_stream)
        return NULL;
    list_each(struct stream, stream, &s->streams, node)
        if (stream->id == id)
            return stream;
    *is_over = true;
    return stream_new(&s->log, id);
}

void http_session_unanswered(struct http_session *s, uint64_t id)
{
    s->unanswered[s->unanswered_count++ % HTTP_UNANSWERED_KEPT] = id;
}

bool http_session_is_unanswered(const struct http_session *s, uint64_t id)
{
    for (size_t i = 0; i < HTTP_UNANSWERED_KEPT; i++)
        if (s->unanswered[i] == id)
            return true;
    return false;
}

void http_session_hold(struct http_session *s, struct stream *stream)
{
    stream->ends_with_reader = true;
    list_append(&s->streams, &stream->node);
    stream_keep_alive(stream);
}

/* A reader may outlive the log, so its stream gets a copy of what it has not read yet. */
static void end_stream(struct stream *stream)
{
    stream->log = NULL;
    stream_end(stream);
}

void http_session_free(struct http_session *s)
{
    if (s == NULL)
        return;
    if (!list_is_empty(&s->node))
        s->principal->session_count--;
    list_remove(&s->node);
    connection_free(s->connection);
    while (!list_is_empty(&s->streams))
        end_stream(list_entry(s->streams.next, struct stream, node));
    end_stream(s->unasked);
    event_log_fini(&s->log);
    free(s);
}
