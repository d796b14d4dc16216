/*
 * A server that does nothing: it starts a guardian if told to, and a marked child, which starts others; then
 * it waits to be killed, or for a byte on descriptor 0, after which it shuts down.
 *
 * usage: fake_server HELPER guardian|alone|dismiss
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "proc/child.h"
#include "proc/guardian.h"
#include "proc/spawn.h"

static void on_exit_of_child(void *arg, const struct child_end *end)
{
    (void)arg;
    (void)end;
}

int main(int argc, char **argv)
{
    struct err err;
    if (argc < 3)
        return 2;
    struct children *children = children_new(uv_default_loop(), &err);
    struct guardian *guardian = strcmp(argv[2], "alone") == 0 ? NULL : guardian_new(uv_default_loop(), &err);
    if (children == NULL || (guardian == NULL && strcmp(argv[2], "alone") != 0))
        return 3;
    const char *environment[] = {guardian == NULL ? NULL : guardian_mark(guardian), NULL};
    const char *arguments[] = {argv[1], "tree", NULL};
    struct spawn_spec spec = {.argv = arguments, .environment = environment, .descriptors = {-1, 1, 2, -1}};
    struct child *child = child_spawn(children, &spec, on_exit_of_child, NULL, &err);
    if (child == NULL)
        return 4;
    printf("%d\n", (int)child_pid(child));
    fflush(stdout);
    char c;
    ssize_t n = read(0, &c, 1);
    (void)n;
    if (strcmp(argv[2], "dismiss") == 0) {
        /* The guardian goes first and alone: the processes it watched stay. */
        guardian_free(guardian);
        printf("dismissed\n");
        fflush(stdout);
        n = read(0, &c, 1);
        guardian = NULL;
    }
    guardian_free(guardian);
    child_free(child);
    children_free(children);
    return 0;
}
