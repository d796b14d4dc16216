/*
 * Responsible for loading libraries.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(void **library, const char *name, const char *package,
                  const struct library_function *functions, void *members, struct err *err)
{
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*library == NULL)
        return err_set(err, ERR_START, "HTTP needs %s (on Debian the package %s): %s", name, package,
                       dlerror());
    for (; functions->name != NULL; functions++) {
        void *symbol = dlsym(*library, functions->name);
        if (symbol == NULL) {
            library_unload(*library);
            *library = NULL;
            return err_set(err, ERR_START, "%s is too old: it has no %s", name, functions->name);
        }
        /* POSIX allows a data pointer to hold a function pointer; ISO C has no cast for it. */
        memcpy((char *)members + functions->place, &symbol, sizeof symbol);
    }
    return true;
}

void library_unload(void *library)
{
    if (library != NULL)
        dlclose(library);
}
