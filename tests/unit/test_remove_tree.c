/*
 * Removing directories that hostile programs have filled.
 */
#include "../cases.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own_directory.h"
#include "base/remove_tree.h"

/* Deeper than a path can be long. */
#define DEPTH 600

static char folder[] = "/tmp/cl-mcp-test-XXXXXX";

static int enter_a_folder(void **state)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("tree", 0700) != 0 ||
                   mkdir("kept", 0700) != 0
               ? -1
               : 0;
}

static int leave_the_folder(void **state)
{
    remove_tree(folder);
    return chdir("/") != 0 || access(folder, F_OK) == 0;
}

static void put(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
}

TEST_BETWEEN(a_tree_deeper_than_a_path_is_long_is_removed, enter_a_folder, leave_the_folder)
{
    int at = open("tree", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(0, mkdirat(at, "directory", 0700));
        int fd = openat(at, "file", O_WRONLY | O_CREAT, 0600);
        close(fd);
        fd = openat(at, "directory", O_RDONLY | O_DIRECTORY);
        close(at);
        at = fd;
    }
    close(at);
    remove_tree("tree");
    assert_int_equal(-1, access("tree", F_OK));
}

TEST_BETWEEN(links_are_removed_and_what_they_point_to_is_not, enter_a_folder, leave_the_folder)
{
    put("kept/file");
    assert_int_equal(0, mkdir("tree/a", 0700));
    assert_int_equal(0, symlink("../kept", "tree/directory"));
    assert_int_equal(0, symlink("../../kept", "tree/a/directory"));
    assert_int_equal(0, symlink("../../kept/file", "tree/a/file"));
    remove_tree("tree");
    assert_int_equal(-1, access("tree", F_OK));
    assert_int_equal(0, access("kept/file", F_OK));
}

TEST_BETWEEN(a_link_in_the_place_of_the_tree_leads_nowhere, enter_a_folder, leave_the_folder)
{
    put("kept/file");
    assert_int_equal(0, rmdir("tree"));
    assert_int_equal(0, symlink("kept", "tree"));
    remove_tree("tree");
    remove_old_files("./tree", 1, "*", INT32_MAX);
    assert_int_equal(0, access("kept/file", F_OK));
}

TEST_BETWEEN(names_that_the_removal_would_use_are_in_no_way, enter_a_folder, leave_the_folder)
{
    char name[64];
    assert_int_equal(0, mkdir("tree/a", 0700));
    assert_int_equal(0, mkdir("tree/a/b", 0700));
    put("tree/a/b/file");
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "tree/.removed-%d-%d", (int)getpid(), i);
        put(name);
    }
    remove_tree("tree");
    assert_int_equal(-1, access("tree", F_OK));
}

TEST_BETWEEN(only_old_files_and_links_of_such_names_are_removed, enter_a_folder, leave_the_folder)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    put("kept/file");
    put("tree/new");
    put("tree/old");
    put("tree/other");
    assert_int_equal(0, mkdir("tree/directory", 0700));
    assert_int_equal(0, symlink("../kept/file", "tree/link"));
    assert_int_equal(0, utimensat(AT_FDCWD, "tree/old", old, 0));
    assert_int_equal(0, utimensat(AT_FDCWD, "tree/other", old, 0));
    assert_int_equal(0, utimensat(AT_FDCWD, "tree/link", old, AT_SYMLINK_NOFOLLOW));
    remove_old_files("./tree", 1, "*l*", 1001);
    assert_int_equal(0, access("tree/new", F_OK));
    assert_int_equal(0, access("tree/other", F_OK));
    assert_int_equal(-1, access("tree/old", F_OK));
    assert_int_equal(-1, readlink("tree/link", (char[8]){0}, 8));
    assert_int_equal(0, access("tree/directory", F_OK));
    assert_int_equal(0, access("kept/file", F_OK));
}

/* To remove the files takes the thread as long as some thousand calls of access(). */
TEST_BETWEEN(leftovers_of_dead_servers_are_removed_while_the_caller_goes_on, enter_a_folder, leave_the_folder)
{
    struct err err;
    int lock;
    char name[64];
    bool has_gone_on = false;
    for (int attempt = 0; attempt < 10 && !has_gone_on; attempt++) {
        assert_int_equal(0, mkdir("own-left00", 0700));
        for (int i = 0; i < 10000; i++) {
            snprintf(name, sizeof name, "own-left00/%d", i);
            put(name);
        }
        char *own = own_directory_make(folder, "own-", &lock, &err);
        has_gone_on = access("own-left00", F_OK) == 0;
        assert_non_null(own);
        for (int ms = 0; ms < 20000 && access("own-left00", F_OK) == 0; ms++)
            poll(NULL, 0, 1);
        assert_int_equal(-1, access("own-left00", F_OK));
        assert_int_equal(0, access(own, F_OK));
        own_directory_remove(own, lock);
    }
    assert_true(has_gone_on);
}
