/*
 * Responsible for loading libmicrohttpd and finding its functions, and for the bytes that it receives.
 */
#include "http/mhd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/library.h"

static const struct library_function functions[] = {
#define ROW(member, name) {#name, offsetof(struct mhd, member)},
    MHD_FUNCTIONS(ROW){0}
#undef ROW
};

bool mhd_load(struct mhd *mhd, struct err *err)
{
    *mhd = (struct mhd){0};
    return library_load(&mhd->library, "libmicrohttpd.so.12", "libmicrohttpd12", functions, mhd, err);
}

void mhd_unload(struct mhd *mhd)
{
    library_unload(mhd->library);
    *mhd = (struct mhd){0};
}

/*
 * Libraries before 1.0 write NULs over the ends of lines, so a NUL that a client has sent cannot always be
 * told from them afterwards (exchange_head_is_plain()). The dynamic linker finds this function before that of
 * the C library: a NUL becomes a byte that no header and no JSON may contain either. Other libraries get what
 * came.
 */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
    ssize_t got = recvfrom(fd, bytes, len, flags, NULL, NULL);
    char *nul = got > 0 ? memchr(bytes, '\0', (size_t)got) : NULL;
    Dl_info caller;
    if (nul == NULL || dladdr(__builtin_return_address(0), &caller) == 0 ||
        strstr(caller.dli_fname, "libmicrohttpd") == NULL)
        return got;
    for (char *end = (char *)bytes + got; nul != NULL; nul = memchr(nul, '\0', (size_t)(end - nul)))
        *nul = '\1';
    return got;
}
