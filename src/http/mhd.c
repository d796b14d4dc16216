/*
 * Responsible for loading libmicrohttpd and finding its functions.
 */
#include "http/mhd.h"

#include <stddef.h>

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
