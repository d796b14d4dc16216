/*
 * Reading and replacing one regular file: what is refused, what is kept, and that nothing is left behind.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "folder_test.h"

static size_t count_entries(void)
{
    DIR *folder = opendir(".");
    size_t count = 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static void assert_holds(const char *name, const char *text)
{
    struct regular_file file;
    assert_true(regular_file_read(&file, name, 100, NULL));
    assert_string_equal(text, strbuf_string(&file.text));
    regular_file_fini(&file);
}

TEST_BETWEEN(a_file_is_replaced_with_its_mode, enter_a_folder, leave_the_folder)
{
    struct regular_file file;
    struct stat status;
    put("a.lisp", "old");
    chmod("a.lisp", 0640);
    assert_true(regular_file_read(&file, "a.lisp", 3, NULL));
    assert_true(regular_file_replace(&file, "newer", 5, NULL));
    regular_file_fini(&file);
    assert_holds("a.lisp", "newer");
    stat("a.lisp", &status);
    assert_int_equal(0640, status.st_mode & 07777);
    assert_int_equal(1, count_entries());
}

TEST_BETWEEN(only_regular_files_within_the_bound_are_read, enter_a_folder, leave_the_folder)
{
    static const struct {
        const char *name;
        enum error_code code;
    } rows[] = {{"none", ERR_NOT_FOUND},    {"none/none", ERR_NOT_FOUND},
                {"pipe", ERR_INVALID},      {".", ERR_INVALID},
                {"", ERR_INVALID},          {"./", ERR_INVALID},
                {"/dev/zero", ERR_INVALID}, {"large", ERR_TOO_LARGE}};
    struct regular_file file;
    struct err err;
    mkfifo("pipe", 0600);
    put("large", "12345");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_false(regular_file_read(&file, rows[i].name, 4, &err));
        assert_int_equal(rows[i].code, err.code);
        regular_file_fini(&file);
    }
    assert_true(regular_file_read(&file, "large", 5, &err));
    regular_file_fini(&file);
    /* Files of /proc have no size of their own. */
    assert_false(regular_file_read(&file, "/proc/self/status", 100, &err));
    assert_int_equal(ERR_TOO_LARGE, err.code);
    regular_file_fini(&file);
}

TEST_BETWEEN(a_link_is_read_and_not_replaced, enter_a_folder, leave_the_folder)
{
    struct regular_file file;
    struct err err;
    put("a.lisp", "old");
    assert_int_equal(0, symlink("a.lisp", "link.lisp"));
    assert_true(regular_file_read(&file, "link.lisp", 100, &err));
    assert_false(regular_file_replace(&file, "new", 3, &err));
    assert_non_null(strstr(err.message, "symbolic link"));
    regular_file_fini(&file);
    assert_int_equal(0, link("a.lisp", "b.lisp"));
    assert_true(regular_file_read(&file, "a.lisp", 100, &err));
    assert_false(regular_file_replace(&file, "new", 3, &err));
    assert_non_null(strstr(err.message, "hard links"));
    regular_file_fini(&file);
    assert_holds("a.lisp", "old");
    assert_int_equal(3, count_entries());
}

TEST_BETWEEN(a_file_that_changed_is_not_replaced, enter_a_folder, leave_the_folder)
{
    struct regular_file file;
    struct err err;
    put("a.lisp", "old");
    assert_true(regular_file_read(&file, "a.lisp", 100, &err));
    put("a.lisp", "other");
    assert_false(regular_file_replace(&file, "new", 3, &err));
    assert_holds("a.lisp", "other");
    unlink("a.lisp");
    assert_false(regular_file_replace(&file, "new", 3, &err));
    assert_int_equal(0, count_entries());
    regular_file_fini(&file);
}

TEST_BETWEEN(only_what_is_in_the_folder_is_read_beneath_it, enter_a_folder, leave_the_folder)
{
    static const struct {
        const char *path;
        bool is_read;
    } rows[] = {
        {"a.lisp", true},
        {"inner/b.lisp", true},
        {"inner/../a.lisp", true},
        {"../outside.lisp", false},
        {"inner/../../outside.lisp", false},
        {"out/outside.lisp", false},
        {"link.lisp", false},
        {"/etc/passwd", false},
        {"same/b.lisp", true},
        {"none/b.lisp", false},
        {"", false},
    };
    char root[64], path[128];
    put("outside.lisp", "outside");
    mkdir("root", 0700);
    mkdir("root/inner", 0700);
    put("root/a.lisp", "a");
    put("root/inner/b.lisp", "b");
    assert_int_equal(0, symlink("..", "root/out"));
    assert_int_equal(0, symlink("inner", "root/same"));
    assert_int_equal(0, symlink("a.lisp", "root/link.lisp"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regular_file file;
        assert_int_equal(rows[i].is_read, regular_file_read_beneath(&file, "root", rows[i].path, 100, NULL));
        regular_file_fini(&file);
    }
    assert_non_null(getcwd(root, sizeof root));
    static const char *const absolute[] = {"root/a.lisp", "outside.lisp", "rootless/a.lisp"};
    for (size_t i = 0; i < sizeof absolute / sizeof *absolute; i++) {
        struct regular_file file;
        snprintf(path, sizeof path, "%s/%s", root, absolute[i]);
        assert_int_equal(i == 0, regular_file_read_beneath(&file, "root", path, 100, NULL));
        regular_file_fini(&file);
    }
}

/* In a process that is not root, who may write everything. */
static bool is_replaced_by_its_owner(const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct regular_file file;
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        bool is_done =
            regular_file_read(&file, name, 100, NULL) && regular_file_replace(&file, "new", 3, NULL);
        regular_file_fini(&file);
        _exit(is_done ? 0 : 1);
    }
    int status;
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

TEST_BETWEEN(a_file_that_its_owner_may_not_write_is_kept, enter_a_folder, leave_the_folder)
{
    put("mine.lisp", "old");
    if (geteuid() == 0) {
        assert_int_equal(0, chown(".", 65534, 65534));
        assert_int_equal(0, chown("mine.lisp", 65534, 65534));
    }
    assert_int_equal(0, chmod("mine.lisp", 0444));
    assert_false(is_replaced_by_its_owner("mine.lisp"));
    assert_holds("mine.lisp", "old");
    assert_int_equal(0, chmod("mine.lisp", 0644));
    assert_true(is_replaced_by_its_owner("mine.lisp"));
    assert_holds("mine.lisp", "new");
}

TEST_BETWEEN(writing_replaces_the_text_and_follows_no_link, enter_a_folder, leave_the_folder)
{
    struct err err;
    struct stat status;
    put("target", "kept");
    assert_int_equal(0, symlink("target", "link"));
    assert_false(regular_file_write("link", "new", 3, &err));
    assert_int_equal(ERR_SYSTEM, err.code);
    assert_holds("target", "kept");
    assert_true(regular_file_write("file", "longer", 6, &err));
    assert_true(regular_file_write("file", "new", 3, &err));
    assert_holds("file", "new");
    assert_int_equal(0, stat("file", &status));
    assert_int_equal(0600, status.st_mode & 07777);
}
