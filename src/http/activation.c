/*
 * Responsible for sockets inherited from the parent process.
 */
#include "http/activation.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PASSED_ON 3
#define MOST_PASSED_ON 64

static long number(const char *text)
{
    char *end;
    long value = text == NULL || *text == '\0' ? -1 : strtol(text, &end, 10);
    return value >= 0 && *end == '\0' ? value : -1;
}

static bool is_listening_stream(int fd)
{
    int type, listens;
    socklen_t type_len = sizeof type, listens_len = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && listens != 0;
}

int activation_take(unsigned n, struct err *err)
{
    long count = number(getenv("LISTEN_FDS"));
    if (number(getenv("LISTEN_PID")) != (long)getpid() || count < 0 || count > MOST_PASSED_ON ||
        n >= (unsigned long)count) {
        err_set(err, ERR_INVALID,
                "--http systemd: no socket was passed on to this process (LISTEN_PID and LISTEN_FDS)");
        return -1;
    }
    int fd = FIRST_PASSED_ON + (int)n, flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !is_listening_stream(fd)) {
        err_set(err, ERR_INVALID,
                "--http systemd: descriptor %d is not a listening stream socket (ListenStream=, Accept=no)",
                fd);
        return -1;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return fd;
}
