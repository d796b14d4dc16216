/*
 * The life of a task.
 */
#include "mcp/tasks.h"
#include "strbuf_test.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

STRBUF_TEST(result, a_task_is_given_up_once_and_not_after_its_end)
{
    int given_up = 0;
    struct tasks *all = tasks_new(uv_default_loop());
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
    struct tasks *all = tasks_new(uv_default_loop());
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
    struct tasks *all = tasks_new(uv_default_loop());
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
