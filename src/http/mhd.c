/*
 * Responsible for loading libmicrohttpd and finding its functions.
 */
#include "http/mhd.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libmicrohttpd.so.12"

bool mhd_load(struct mhd *mhd, struct err *err)
{
    *mhd = (struct mhd){0};
    mhd->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (mhd->library == NULL)
        return err_set(err, ERR_START, "HTTP needs %s (on Debian the package libmicrohttpd12): %s", LIBRARY,
                       dlerror());
        /* POSIX allows a data pointer to hold a function pointer; ISO C has no cast for it. */
#define FIND(member, name)                                                                                   \
    do {                                                                                                     \
        void *symbol = dlsym(mhd->library, #name);                                                           \
        if (symbol == NULL) {                                                                                \
            mhd_unload(mhd);                                                                                 \
            return err_set(err, ERR_START, "%s is too old: it has no %s", LIBRARY, #name);                   \
        }                                                                                                    \
        memcpy(&mhd->member, &symbol, sizeof symbol);                                                        \
    } while (0);
    MHD_FUNCTIONS(FIND)
#undef FIND
    return true;
}

void mhd_unload(struct mhd *mhd)
{
    if (mhd->library != NULL)
        dlclose(mhd->library);
    *mhd = (struct mhd){0};
}
