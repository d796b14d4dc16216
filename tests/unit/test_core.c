/*
 * Where the image of the Lisp is kept: only in a directory that nobody else can change.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cases.h"
#include "lisp/core.h"

struct place {
    char top[64];    /* made anew for each test */
    char leaf[128];  /* $XDG_CACHE_HOME/cl-mcp-server */
    char other[128]; /* a directory of ours */
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    snprintf(p->top, sizeof p->top, "/tmp/test-core-XXXXXX");
    if (mkdtemp(p->top) == NULL)
        return -1;
    snprintf(p->leaf, sizeof p->leaf, "%s/cl-mcp-server", p->top);
    snprintf(p->other, sizeof p->other, "%s/other", p->top);
    mkdir(p->other, 0700);
    setenv("XDG_CACHE_HOME", p->top, 1);
    unsetenv("HOME");
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    if (unlink(p->leaf) != 0)
        rmdir(p->leaf);
    rmdir(p->other);
    rmdir(p->top);
    free(p);
    return 0;
}

static bool is_used(const struct place *p)
{
    bool exists;
    struct err err;
    char *path = core_path("/bin/sh", &exists, &err);
    bool result = path != NULL && strncmp(path, p->leaf, strlen(p->leaf)) == 0;
    free(path);
    return result;
}

#define CASE(test) TEST_WITH(struct place, p, test, set_up, tear_down)

CASE(a_missing_directory_is_made_for_the_user_alone)
{
    struct stat s;
    assert_true(is_used(p));
    assert_int_equal(stat(p->leaf, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
}

CASE(a_link_is_not_followed)
{
    assert_int_equal(symlink(p->other, p->leaf), 0);
    assert_false(is_used(p));
}

CASE(a_directory_that_others_can_write_is_not_used)
{
    mkdir(p->leaf, 0700);
    assert_int_equal(chmod(p->leaf, 0770), 0);
    assert_false(is_used(p));
    assert_int_equal(chmod(p->leaf, 0707), 0);
    assert_false(is_used(p));
    assert_int_equal(chmod(p->leaf, 0755), 0);
    assert_true(is_used(p));
}

CASE(a_directory_that_others_can_replace_is_not_used)
{
    mkdir(p->leaf, 0700);
    assert_int_equal(chmod(p->top, 0777), 0);
    assert_false(is_used(p));
    assert_int_equal(chmod(p->top, 01777), 0);
    assert_true(is_used(p));
}

static void skip_unless_root(void)
{
    if (getuid() != 0) {
        print_message("skipped: only root can give a directory to somebody else\n");
        skip();
    }
}

CASE(a_directory_that_a_group_can_replace_is_not_used)
{
    skip_unless_root();
    mkdir(p->leaf, 0700);
    assert_int_equal(chmod(p->top, 0775), 0);
    assert_true(is_used(p));
    assert_int_equal(chown(p->top, 0, 12345), 0);
    assert_false(is_used(p));
    assert_int_equal(chmod(p->top, 01775), 0);
    assert_true(is_used(p));
}

CASE(a_directory_of_another_user_is_not_used)
{
    skip_unless_root();
    mkdir(p->leaf, 0700);
    assert_int_equal(chown(p->leaf, 1, 1), 0);
    assert_false(is_used(p));
    assert_int_equal(chown(p->leaf, 0, 0), 0);
    assert_int_equal(chown(p->top, 1, 1), 0);
    assert_false(is_used(p));
}
