/*
 * Tries to write where it may not: as a library that is preloaded, and as a program that is run from memory.
 * It first writes $ESCAPE_INSIDE, which proves that it runs, then $ESCAPE_OUTSIDE.
 *
 *     escape execveat|fexecve|proc INSIDE OUTSIDE
 *     ESCAPE_INSIDE=... ESCAPE_OUTSIDE=... LD_PRELOAD=./escape.so PROGRAM
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

static void create(const char *variable)
{
    const char *path = getenv(variable);
    if (path != NULL)
        close(open(path, O_WRONLY | O_CREAT, 0666));
}

__attribute__((constructor)) static void attempt(void)
{
    create("ESCAPE_INSIDE");
    create("ESCAPE_OUTSIDE");
}

int main(int argc, char **argv)
{
    char *alone[] = {argv[0], NULL}, path[64];
    if (argc != 4)
        return 0;
    setenv("ESCAPE_INSIDE", argv[2], 1);
    setenv("ESCAPE_OUTSIDE", argv[3], 1);
    int self = open("/proc/self/exe", O_RDONLY), memory = memfd_create("escape", 0);
    if (self < 0 || memory < 0 || sendfile(memory, self, NULL, 1 << 30) <= 0)
        return 2;
    if (strcmp(argv[1], "execveat") == 0)
        syscall(SYS_execveat, memory, "", alone, environ, AT_EMPTY_PATH);
    else if (strcmp(argv[1], "fexecve") == 0)
        fexecve(memory, alone, environ);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    execve(path, alone, environ);
    return 3;
}
