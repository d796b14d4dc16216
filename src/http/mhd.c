/*
 * Responsible for loading libmicrohttpd and finding its functions, and for the bytes that it receives.
 */
#include "http/mhd.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
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

static void hide_nuls(char *bytes, ssize_t len)
{
    char *end = bytes + (len > 0 ? len : 0), *nul = bytes;
    while (nul < end && (nul = memchr(nul, '\0', (size_t)(end - nul))) != NULL)
        *nul = '\1';
}

/*
 * Libraries before 1.0 write NULs over the ends of lines, so a NUL that a client has sent cannot always be
 * told from them afterwards (exchange_head_is_plain()). The dynamic linker finds these two functions before
 * those of the C library and of GnuTLS: a NUL becomes a byte that no header and no JSON may contain either.
 * Other libraries get what came.
 */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
    ssize_t got = recvfrom(fd, bytes, len, flags, NULL, NULL);
    Dl_info caller;
    if (got > 0 && memchr(bytes, '\0', (size_t)got) != NULL &&
        dladdr(__builtin_return_address(0), &caller) != 0 &&
        strstr(caller.dli_fname, "libmicrohttpd") != NULL)
        hide_nuls(bytes, got);
    return got;
}

/* Only libmicrohttpd calls it, and has loaded the one that is meant. */
__attribute__((visibility("default"))) ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes,
                                                                  size_t len)
{
    struct {
        ssize_t (*receive)(gnutls_session_t session, void *bytes, size_t len);
    } gnutls;
    static const struct library_function its_functions[] = {{"gnutls_record_recv", 0}, {0}};
    void *library;
    struct err err;
    if (!library_load(&library, "libgnutls.so.30", "libgnutls30", its_functions, &gnutls, &err))
        return GNUTLS_E_INTERNAL_ERROR;
    ssize_t got = gnutls.receive(session, bytes, len);
    library_unload(library);
    hide_nuls(bytes, got);
    return got;
}
