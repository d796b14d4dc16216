/*
 * A case in a temporary folder, which is current: TEST_BETWEEN(test, enter_a_folder, leave_the_folder).
 */
#ifndef UNIT_FOLDER_TEST_H
#define UNIT_FOLDER_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cases.h"

static inline int enter_a_folder(void **state)
{
    static char folder[] = "/tmp/cl-mcp-test-XXXXXX";
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    *state = mkdtemp(folder);
    return *state == NULL ? -1 : chdir(folder);
}

static inline int leave_the_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    return chdir("/") != 0 || system(command) != 0;
}

static inline void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) < 0, 0);
    fclose(f);
}

#endif
