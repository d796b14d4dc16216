/*
 * Responsible for the status of sessions for the operator: the resources that each uses, and a line for each
 * in the log.
 */
#include <string.h>

#include "base/log.h"
#include "lisp/zygotes.h"
#include "proc/memory.h"
#include "proc/process.h"
#include "session/core/core.h"
#include "session/life/saving.h"
#include "session/session.h"
#include "session/session_host.h"
#include "session/work/memory_watch.h"

#define NS_PER_MS 1000000u
#define STATUS_MS 200 /* for reading memory; the rest is reported without it */

struct session_memory session_memory(const struct session *s, int most_ms)
{
    pid_t pids[PROCESSES_MOST];
    struct session_memory m = {.processes = processes_list(s, pids, PROCESSES_MOST)};
    uint64_t deadline_ns = uv_hrtime() + (uint64_t)most_ms * NS_PER_MS, bytes;
    for (size_t i = 0; i < m.processes; i++)
        if (uv_hrtime() < deadline_ns && process_memory(pids[i], &bytes))
            m.bytes += bytes;
        else
            m.unread++;
    if (m.unread > 0 && memory_watch_bytes(s, &m.bytes))
        m.unread = 0;
    return m;
}

static void log_session(const struct sessions *all, const struct session *s, uint64_t deadline_ns)
{
    uint64_t now = uv_hrtime();
    struct session_memory m =
        session_memory(s, now < deadline_ns ? (int)((deadline_ns - now) / NS_PER_MS) : 0);
    log_status("session %s%s%s: %s, process %d, %zu processes, %llu KiB%s, %zu operations, %zu checkpoints, "
               "%llu evaluations, %zu errors",
               all->owner, all->owner[0] != '\0' ? "/" : "", s->id.name, session_state_texts[s->state],
               (int)session_core_pid(s), m.processes, (unsigned long long)(m.bytes >> 10),
               m.unread > 0 ? " or more" : "", list_count(&s->queue), snapshots_count(&s->snapshots),
               (unsigned long long)session_evaluations(s), s->errors.made);
}

void session_host_print_metrics(const struct session_host *host, struct strbuf *out)
{
    size_t running = 0, queued = 0, saves = host->planned_saves, resident = 0;
    struct memory_left memory = {0};
    memory_read("", &memory);
    list_each(struct sessions, all, &host->owners, node)
        list_each(struct session, s, &all->all, id.node) {
            running += s->current != NULL;
            queued += list_count(&s->queue);
            saves += savings_count(s);
        }
    const uint64_t values[METRIC_GAUGE_COUNT] = {
        [METRIC_GAUGE_SESSIONS] = host->sessions.used,
        [METRIC_GAUGE_SESSIONS_SUSPENDED] = host->suspended,
        [METRIC_GAUGE_SESSIONS_LIVE] = host->sessions.used - host->suspended,
        [METRIC_GAUGE_RUNNING] = running,
        [METRIC_GAUGE_WAITING] = queued - running,
        [METRIC_GAUGE_SAVES_PENDING] = saves,
        [METRIC_GAUGE_PROCESSES] = host->processes.used,
        [METRIC_GAUGE_ZYGOTES] = zygotes_count(host->options.zygotes),
        [METRIC_GAUGE_SERVER_BYTES] = uv_resident_set_memory(&resident) == 0 ? resident : 0,
        [METRIC_GAUGE_MEMORY_USED] = memory.total - memory.available,
        [METRIC_GAUGE_MEMORY_LIMIT] = memory.total,
        [METRIC_GAUGE_UPTIME] = (uv_now(host->options.loop) - host->started_at) / 1000,
    };
    metrics_print(&host->metrics, values, out);
}

void session_host_log_status(const struct session_host *host)
{
    struct strbuf figures = {0};
    uint64_t deadline_ns = uv_hrtime() + STATUS_MS * NS_PER_MS;
    session_host_print_metrics(host, &figures);
    const char *line = strbuf_string(&figures);
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");
        if (line[0] != '#')
            log_status("%.*s", (int)len, line);
        line += len + (line[len] != '\0');
    }
    strbuf_fini(&figures);
    list_each(struct sessions, all, &host->owners, node)
        list_each(struct session, s, &all->all, id.node)
            log_session(all, s, deadline_ns);
}
