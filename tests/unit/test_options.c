/*
 * The command line: every option is complete and can be found, its argument arrives where it belongs, and
 * what is wrong is refused.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "options/options.h"

#define MOST_ARGUMENTS 200

static bool parse(struct options *o, const char *const *arguments)
{
    static char program[] = "cl-mcp-server";
    char *argv[MOST_ARGUMENTS + 2] = {program};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
    optind = 0; /* begin anew: glibc's getopt_long() keeps its place in a global */
    return options_parse(o, argc, argv);
}

#define PARSE(o, ...) parse((o), (const char *const[]){__VA_ARGS__, NULL})

TEST(every_option_is_described_once)
{
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        assert_non_null(option.name);
        assert_non_null(option.help);
        assert_true(option.help[0] >= 'A' && option.help[0] <= 'Z');
        assert_true(option.help[strlen(option.help) - 1] != '.');
        assert_non_null(option.section);
        assert_non_null(option.set);
        assert_true(option.place < sizeof(struct options));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(option.name, options_at(j).name);
    }
}

TEST(help_has_a_line_for_each_option)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    options_help(out, true);
    fclose(out);
    for (size_t i = 0; i < options_count(); i++) {
        char wanted[100];
        snprintf(wanted, sizeof wanted, "\n  --%s ", options_at(i).name);
        assert_non_null(strstr(text, wanted));
    }
    free(text);
}

TEST(arguments_arrive_where_they_belong)
{
    struct options o;
    assert_true(PARSE(&o, "--http", "a:1", "--http", "b:2", "--persist", "--max-sessions", "7", "--node",
                      "n1", "--userinit", "/init", "--state-dir", "/state", "--checkpoints", "off",
                      "--timeout", "2.5", "--tools", "core"));
    assert_string_equal(o.http.addresses[0], "a:1");
    assert_string_equal(o.http.addresses[1], "b:2");
    assert_null(o.http.addresses[2]);
    assert_true(o.is_persistent);
    assert_false(o.http.connection.wants_structured);
    assert_int_equal(o.most_sessions, 7);
    assert_string_equal(o.http.node, "n1");
    assert_string_equal(o.zygote.user_init, "/init");
    assert_string_equal(o.state_directory, "/state");
    assert_string_equal(o.http.connection.listing, "core");
    assert_int_equal(limits_int(&o.limits, LIMIT_CHECKPOINTS), 0);
    assert_int_equal(limits_timeout_ms(&o.limits), 2500);
    options_fini(&o);
}

TEST(omitted_options_have_their_defaults)
{
    struct options o;
    assert_true(PARSE(&o, "--persist"));
    assert_string_equal(o.zygote.lisp, "sbcl");
    assert_null(o.http.connection.listing);
    assert_null(o.http.addresses[0]);
    assert_int_equal(o.most_sessions, 0);
    assert_int_equal(limits_timeout_ms(&o.limits), 30000);
    options_fini(&o);
}

TEST(no_userinit_wins_on_either_side)
{
    struct options o;
    assert_true(PARSE(&o, "--userinit", "/init", "--no-userinit"));
    assert_null(o.zygote.user_init);
    options_fini(&o);
    assert_true(PARSE(&o, "--no-userinit", "--userinit", "/init"));
    assert_null(o.zygote.user_init);
    options_fini(&o);
}

TEST(help_is_answered_before_what_is_wrong_behind_it)
{
    struct options o;
    assert_true(PARSE(&o, "--help", "--no-such-option"));
    assert_true(o.wants_help);
    options_fini(&o);
}

TEST(wrong_command_lines_are_refused)
{
    static const char *const wrong[][3] = {
        {"--no-such-option"},
        {"stray"},
        {"--lisp"},
        {"--persist=yes"},
        {"--max-sessions", "0"},
        {"--max-sessions", "1000001"},
        {"--max-sessions", "7x"},
        {"--max-sessions", ""},
        {"--max-sessions", "-1"},
        {"--max-sessions", "99999999999999999999"},
        {"--timeout", "0"},
        {"--timeout", "nan"},
        {"--timeout", "1s"},
        {"--timeout", ""},
        {"--checkpoints", "yes"},
        {"--log-level", "loud"},
        {"--node", ""},
        {"--node", "-ab"},
        {"--tools", "no-such-one"},
        {"--node", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct options o;
        if (parse(&o, wrong[i]))
            fail_msg("%s %s was taken", wrong[i][0], wrong[i][1]);
        options_fini(&o);
    }
}

TEST(an_option_is_repeated_at_most_64_times)
{
    const char *arguments[2 * OPTIONS_MOST_REPEATED + 3] = {NULL};
    for (size_t i = 0; i < OPTIONS_MOST_REPEATED; i++) {
        arguments[2 * i] = "--load";
        arguments[2 * i + 1] = "file.lisp";
    }
    struct options o;
    assert_true(parse(&o, arguments));
    assert_string_equal(o.zygote.loads[OPTIONS_MOST_REPEATED - 1], "file.lisp");
    options_fini(&o);
    arguments[2 * OPTIONS_MOST_REPEATED] = "--load";
    arguments[2 * OPTIONS_MOST_REPEATED + 1] = "file.lisp";
    assert_false(parse(&o, arguments));
    options_fini(&o);
}
