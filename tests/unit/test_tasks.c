/*
 * The life of a task.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "mcp/tasks.h"

static void what_has_ended_stays_as_it_is(void **state)
{
    for (int status = TASK_COMPLETED; status < TASK_STATUS_COUNT; status++)
        for (int event = 0; event < TASK_EVENT_COUNT; event++)
            assert_int_equal(task_table[status][event], status);
}

static void what_works_goes_where_the_event_leads(void **state)
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

static void a_task_is_given_up_once_and_not_after_its_end(void **state)
{
    int given_up = 0;
    struct strbuf result;
    struct tasks *all = tasks_new(uv_default_loop());
    struct task *one = task_new(all, count, &given_up), *two = task_new(all, count, &given_up);
    task_cancel(one);
    task_cancel(one);
    assert_int_equal(given_up, 1);
    strbuf_init(&result, 0);
    task_end(two, &result);
    task_cancel(two);
    assert_int_equal(given_up, 1);
    task_new(all, count, &given_up);
    tasks_free(all);
    assert_int_equal(given_up, 2);
    strbuf_fini(&result);
}

static void their_number_is_bounded(void **state)
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

static void it_goes_on_when_every_answer_has_come(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_ended_stays_as_it_is),
        cmocka_unit_test(what_works_goes_where_the_event_leads),
        cmocka_unit_test(a_task_is_given_up_once_and_not_after_its_end),
        cmocka_unit_test(their_number_is_bounded),
        cmocka_unit_test(it_goes_on_when_every_answer_has_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
