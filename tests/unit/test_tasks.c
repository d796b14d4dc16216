/*
 * The life of a task.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mcp/task_note.h"
#include "mcp/tasks.h"
#include "strbuf_test.h"

TEST(a_task_that_has_ended_does_not_change)
{
    for (int status = TASK_COMPLETED; status < TASK_STATUS_COUNT; status++)
        for (int event = 0; event < TASK_EVENT_COUNT; event++)
            assert_int_equal(task_table[status][event], status);
}

TEST(a_working_task_changes_as_the_event_requires)
{
    static const enum task_status after[] = {
        [TASK_ASKED] = TASK_INPUT_REQUIRED, [TASK_ANSWERED] = TASK_WORKING,  [TASK_ENDED] = TASK_COMPLETED,
        [TASK_BROKEN] = TASK_FAILED,        [TASK_STOPPED] = TASK_CANCELLED,
    };
    for (int event = 0; event < TASK_EVENT_COUNT; event++) {
        assert_int_equal(task_table[TASK_WORKING][event], after[event]);
        assert_int_equal(task_table[TASK_INPUT_REQUIRED][event], after[event]);
    }
}

static void count(void *arg)
{
    ++*(int *)arg;
}

STRBUF_TEST(result, a_task_is_given_up_once_and_not_after_its_end)
{
    int given_up = 0;
    struct tasks *all = tasks_new(uv_default_loop(), NULL);
    struct task *one = task_new(all, count, &given_up), *two = task_new(all, count, &given_up);
    task_cancel(one);
    task_cancel(one);
    assert_int_equal(given_up, 1);
    task_end(two, result);
    task_cancel(two);
    assert_int_equal(given_up, 1);
    task_new(all, count, &given_up);
    tasks_free(all);
    assert_int_equal(given_up, 2);
}

TEST(their_number_is_bounded)
{
    struct tasks *all = tasks_new(uv_default_loop(), NULL);
    int made = 0;
    while (made < 1000 && task_new(all, NULL, NULL) != NULL)
        made++;
    assert_int_equal(made, 64);
    tasks_free(all);
}

static void on_answers(void *arg, const json_t *responses)
{
    *(size_t *)arg = json_object_size(responses);
}

TEST(it_continues_when_every_answer_has_come)
{
    size_t answers = 0;
    struct tasks *all = tasks_new(uv_default_loop(), NULL);
    struct task *task = task_new(all, NULL, &answers);
    json_t *first = json_pack("{s:{},s:{}}", "a", "unknown"), *second = json_pack("{s:{}}", "b");
    task_ask(task, json_pack("{s:{},s:{}}", "a", "b"), on_answers);
    task_take(task, first);
    assert_int_equal(answers, 0);
    task_take(task, second);
    assert_int_equal(answers, 2);
    json_decref(first);
    json_decref(second);
    tasks_free(all);
}

/* The state directory of a test: a new one, and what is in it at the end. */
static const char *make_directory(void)
{
    static char path[] = "/tmp/cl-mcp-tasks-XXXXXX";
    strcpy(path + strlen(path) - 6, "XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static void remove_directory(const char *path)
{
    char file[200];
    snprintf(file, sizeof file, "%s/tasks", path);
    unlink(file);
    assert_int_equal(rmdir(path), 0);
}

TEST(a_task_of_a_server_that_has_ended_is_known_as_lost)
{
    time_t made = 0;
    const char *directory = make_directory();
    const char *const id = "0123456789abcdef0123456789abcdef", *other = "f123456789abcdef0123456789abcdef";
    struct task_note *before = task_note_new(directory);
    task_note_add(before, id);
    assert_false(task_note_is_lost(before, id, &made)); /* it was dropped */
    struct task_note *after = task_note_new(directory);
    assert_true(task_note_is_lost(after, id, &made));
    assert_true(made > 0 && made <= time(NULL));
    assert_false(task_note_is_lost(after, other, &made));
    assert_false(task_note_is_lost(after, "", &made));
    struct tasks *all = tasks_new(uv_default_loop(), directory);
    assert_non_null(tasks_find(all, id));
    assert_null(tasks_find(all, other));
    assert_non_null(tasks_find(all, id));
    tasks_free(all);
    task_note_free(before);
    task_note_free(after);
    remove_directory(directory);
}

TEST(the_note_of_tasks_is_bounded_and_holds_the_newest)
{
    time_t made;
    char id[TASK_ID_DIGITS + 1], file[200];
    struct stat status;
    const char *directory = make_directory();
    struct task_note *before = task_note_new(directory), *after = task_note_new(directory);
    snprintf(file, sizeof file, "%s/tasks", directory);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "%032x", i);
        task_note_add(before, id);
        assert_int_equal(stat(file, &status), 0);
        assert_true(status.st_size <= 128 * 79);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "%032x", i);
        assert_true(task_note_is_lost(after, id, &made) || i < 1000 - 64);
    }
    snprintf(id, sizeof id, "%032x", 0);
    assert_false(task_note_is_lost(after, id, &made));
    task_note_free(before);
    task_note_free(after);
    remove_directory(directory);
}

TEST(other_content_of_the_file_is_ignored)
{
    time_t made;
    const char *const id = "0123456789abcdef0123456789abcdef";
    const char *directory = make_directory();
    struct task_note *before = task_note_new(directory), *after = task_note_new(directory);
    char file[200];
    snprintf(file, sizeof file, "%s/tasks", directory);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fprintf(f, "%s\n%s", id, id); /* too short, and then a line that was cut */
    fclose(f);
    assert_false(task_note_is_lost(after, id, &made));
    assert_int_equal(truncate(file, 100000), 0); /* more than a server writes */
    assert_false(task_note_is_lost(after, id, &made));
    task_note_add(before, id);
    assert_true(task_note_is_lost(after, id, &made));
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    task_note_add(before, id);
    assert_false(task_note_is_lost(after, id, &made));
    assert_int_equal(rmdir(file), 0);
    task_note_free(before);
    task_note_free(after);
    remove_directory(directory);
}
