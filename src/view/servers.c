/*
 * Responsible for noticing servers: one that starts or describes itself changes a directory, and one that
 * ends makes its process descriptor readable, however it ends.
 *
 * Whoever can write to a directory can put one server's socket in the place of another's. So the process
 * behind the socket is compared with the one that the description names, each time that a message is passed
 * on. The kernel notes who calls listen(), and only root can forge that; the process descriptor, which was
 * opened before, keeps the number from meaning another process.
 */
#include "view/servers.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/regular_file.h"
#include "base/runtime_directory.h"
#include "base/strbuf.h"
#include "proc/loop_handle.h"

#define MOST_SERVERS 500
#define MOST_DIRECTORIES 2
#define LONGEST_ID 40
#define LONGEST_DESCRIPTION 16384

struct server {
    struct list node;
    struct servers *all;
    char id[LONGEST_ID + 1];
    char socket[sizeof((struct sockaddr_un *)0)->sun_path];
    json_t *description;
    pid_t pid;       /* what the description names */
    int process;     /* a descriptor; -1: it has ended */
    uv_poll_t *poll; /* NULL: it has ended */
};

struct servers {
    uv_loop_t *loop;
    struct list list; /* the oldest first */
    size_t count;
    uv_fs_event_t *watches[MOST_DIRECTORIES];
    void (*on_change)(void *arg);
    void *arg;
};

static void end(struct server *server)
{
    if (server->process >= 0) {
        loop_handle_free(server->poll);
        close(server->process);
    }
    server->process = -1;
    server->poll = NULL;
}

static void on_process(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    end(server);
    server->all->on_change(server->all->arg);
}

/* -1 with errno set */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* -1: nobody listens, as at the socket of a server that was killed, or it is busy, or it is another process.
 */
static int connect_server(const struct server *server)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    int fd = connect_to(server->socket);
    if (fd < 0 || (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid() &&
                   peer.pid == server->pid))
        return fd;
    log_warning("another process than %d listens on %s: it is not shown", (int)server->pid, server->socket);
    close(fd);
    errno = EPERM;
    return -1;
}

static bool is_answered(const struct server *server)
{
    int probe = connect_server(server);
    if (probe < 0)
        return errno == EAGAIN; /* it is busy */
    close(probe);
    return true;
}

static struct server *find(const struct servers *all, const char *id, size_t len)
{
    list_each(struct server, server, &all->list, node)
        if (strlen(server->id) == len && memcmp(server->id, id, len) == 0)
            return server;
    return NULL;
}

static json_t *read_description(const char *path)
{
    struct regular_file file;
    struct err err;
    json_t *description = NULL;
    if (regular_file_read(&file, path, LONGEST_DESCRIPTION, &err))
        description = json_loadb(file.text.bytes, file.text.len, 0, NULL);
    regular_file_fini(&file);
    if (json_is_integer(json_object_get(description, "pid")))
        return description;
    json_decref(description);
    return NULL;
}

static pid_t pid_of(const json_t *description)
{
    return (pid_t)json_integer_value(json_object_get(description, "pid"));
}

static void add(struct servers *all, const char *directory, const char *id, json_t *description)
{
    struct server *server = xcalloc(1, sizeof *server);
    server->all = all;
    server->description = description;
    snprintf(server->id, sizeof server->id, "%s", id);
    int len = snprintf(server->socket, sizeof server->socket, "%s/%s.sock", directory, id);
    server->pid = pid_of(description);
    server->process = (int)syscall(SYS_pidfd_open, server->pid, 0);
    /* The process descriptor comes first: if the socket is answered after that, it is of that process. */
    if (len < 0 || (size_t)len >= sizeof server->socket || server->process < 0 || !is_answered(server)) {
        if (server->process >= 0)
            close(server->process);
        json_decref(description);
        free(server);
        return;
    }
    server->poll = loop_handle_poll(all->loop, server->process, server);
    uv_poll_start(server->poll, UV_READABLE, on_process);
    list_init(&server->node);
    list_append(&all->list, &server->node);
    all->count++;
}

/* A file NAME.json describes the server behind NAME.sock. */
static void look_at(struct servers *all, const char *directory, const char *name)
{
    char id[LONGEST_ID + 1], path[PATH_MAX];
    size_t len = strspn(name, "0123456789abcdef-");
    if (len == 0 || len > LONGEST_ID || strcmp(name + len, ".json") != 0)
        return;
    snprintf(id, sizeof id, "%.*s", (int)len, name);
    snprintf(path, sizeof path, "%.3900s/%s.json", directory, id);
    json_t *description = read_description(path);
    struct server *known = find(all, id, len);
    if (description == NULL)
        return;
    if (known == NULL && all->count < MOST_SERVERS) {
        add(all, directory, id, description);
    } else if (known != NULL && pid_of(description) == known->pid) {
        json_decref(known->description);
        known->description = description;
    } else {
        json_decref(description);
    }
}

static void look(struct servers *all)
{
    char path[PATH_MAX];
    for (size_t n = 0; runtime_directory_at(n, path, sizeof path); n++) {
        DIR *directory = runtime_directory_is_ours(path) ? opendir(path) : NULL;
        const struct dirent *entry;
        while (directory != NULL && (entry = readdir(directory)) != NULL)
            look_at(all, path, entry->d_name);
        if (directory != NULL)
            closedir(directory);
    }
}

static void on_files(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct servers *all = watch->data;
    look(all);
    all->on_change(all->arg);
}

static void free_watch(uv_handle_t *watch)
{
    free(watch);
}

struct servers *servers_new(uv_loop_t *loop, void (*on_change)(void *arg), void *arg)
{
    struct servers *all = xcalloc(1, sizeof *all);
    char path[PATH_MAX];
    struct err err;
    *all = (struct servers){.loop = loop, .on_change = on_change, .arg = arg};
    list_init(&all->list);
    if (!runtime_directory_make(path, sizeof path, &err)) /* so that it can be watched */
        log_warning("servers that start from now on are not found: %s", err.message);
    for (size_t n = 0; n < MOST_DIRECTORIES && runtime_directory_at(n, path, sizeof path); n++) {
        if (!runtime_directory_is_ours(path))
            continue;
        all->watches[n] = xcalloc(1, sizeof *all->watches[n]);
        uv_fs_event_init(loop, all->watches[n]);
        all->watches[n]->data = all;
        uv_fs_event_start(all->watches[n], on_files, path, 0);
    }
    look(all);
    return all;
}

void servers_free(struct servers *all)
{
    list_each(struct server, server, &all->list, node) {
        end(server);
        json_decref(server->description);
        free(server);
    }
    for (size_t n = 0; n < MOST_DIRECTORIES; n++)
        if (all->watches[n] != NULL)
            uv_close((uv_handle_t *)all->watches[n], free_watch);
    free(all);
}

size_t servers_count(const struct servers *all)
{
    size_t running = 0;
    list_each(struct server, server, &all->list, node)
        running += server->poll != NULL;
    return running;
}

void servers_write(const struct servers *all, struct strbuf *out)
{
    strbuf_addc(out, '[');
    list_each(struct server, server, &all->list, node) {
        json_t *shown = json_deep_copy(server->description);
        json_object_set_new(shown, "id", json_string(server->id));
        json_object_set_new(shown, "is-ended", json_boolean(server->poll == NULL));
        strbuf_adds(out, &server->node == all->list.next ? "" : ",");
        json_write_value(out, shown);
        json_decref(shown);
    }
    strbuf_addc(out, ']');
}

int servers_connect(const struct servers *all, const char *id, size_t len)
{
    const struct server *server = find(all, id, len);
    return server == NULL || server->poll == NULL ? -1 : connect_server(server);
}
