/*
 * The texts of docs/tools.md, letter by letter, from outcomes made of literals. The session is a fake of this
 * file: what the reports ask of one is little, and so no process is needed.
 */
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "../heading_lines.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "lisp/worker.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"

#define MOST_ERRORS 40

struct session {
    struct capture between;
    struct notices notices;
    struct capture kept[4];
    int last_ref;
    struct error_record *errors[MOST_ERRORS]; /* the newest first */
    size_t error_count;
    bool has_error;
};

struct capture *session_between(struct session *s)
{
    return &s->between;
}

struct notices *session_notices(struct session *s)
{
    return &s->notices;
}

void session_note_announced(struct session *s, size_t n)
{
    s->errors[n]->is_announced = true;
}

void session_redact(const struct session *s, struct capture *capture)
{
    (void)s;
    (void)capture;
}

int session_next_ref(const struct session *s)
{
    return s->last_ref + 1;
}

int session_keep_output(struct session *s, struct capture *capture)
{
    assert_true(s->last_ref < 3);
    capture_move(&s->kept[++s->last_ref], capture);
    return s->last_ref;
}

const struct error_record *session_error(const struct session *s, size_t n)
{
    return n < s->error_count ? s->errors[n] : NULL;
}

size_t session_error_count(const struct session *s)
{
    return s->error_count;
}

const char *session_why_no_checkpoint(const struct session *s)
{
    (void)s;
    return NULL;
}

const struct error_record *session_last_error(const struct session *s)
{
    return s->has_error ? s->errors[0] : NULL;
}

const char *session_name(const struct session *s)
{
    (void)s;
    return "default";
}

const char *session_package(const struct session *s)
{
    (void)s;
    return "MY-APP";
}

pid_t session_pid(const struct session *s)
{
    (void)s;
    return 4711;
}

/* Everything a test needs, made anew for each. */
struct fixture {
    struct session session;
    struct capture output[2];
    struct sexp_document *document;
    struct error_record *record;
    struct outcome outcome;
    struct strbuf out;
    struct error_record *failed[3]; /* thread_failed() */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    capture_init(&f->session.between);
    for (size_t i = 0; i < 4; i++)
        capture_init(&f->session.kept[i]);
    capture_init(&f->output[0]);
    capture_init(&f->output[1]);
    strbuf_init(&f->out, 0);
    *state = f;
    return 0;
}

static void forget_reply(struct fixture *f)
{
    sexp_document_free(f->document);
    error_record_free(f->record);
    f->document = NULL;
    f->record = NULL;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    forget_reply(f);
    capture_fini(&f->session.between);
    notices_clear(&f->session.notices);
    for (size_t i = 0; i < 4; i++)
        capture_fini(&f->session.kept[i]);
    capture_fini(&f->output[0]);
    capture_fini(&f->output[1]);
    strbuf_fini(&f->out);
    for (size_t i = 0; i < 3; i++)
        error_record_free(f->failed[i]);
    free(f);
    return 0;
}

static struct sexp_document *parsed(const char *text)
{
    struct err err;
    struct sexp_document *document = sexp_parse(text, strlen(text), &err);
    if (document == NULL)
        fail_msg("%s in %s", err.message, text);
    return document;
}

static void reply(struct fixture *f, const char *text)
{
    forget_reply(f);
    struct sexp_document *document = parsed(text);
    bool is_error = sexp_is_symbol(sexp_nth(sexp_root(document), 1), "error");
    if (is_error) {
        f->record = error_record_new(document);
        f->record->sequence = 1; /* it is kept */
    } else {
        f->document = document;
    }
    f->outcome = (struct outcome){
        .kind = is_error ? OUTCOME_ERROR : OUTCOME_OK,
        .session = &f->session,
        .reply = is_error ? NULL : sexp_root(document),
        .error = f->record,
        .output = {&f->output[0], &f->output[1]},
    };
}

static void print(struct fixture *f, enum worker_stream stream, const char *text)
{
    capture_add(&f->output[stream], text, strlen(text));
}

/* It is freed with the fixture. */
static void thread_failed(struct fixture *f, const char *thread, const char *report)
{
    struct error_record *r = error_record_new(parsed(report));
    r->thread = strdup(thread);
    r->sequence = (int)++f->session.error_count;
    memmove(f->session.errors + 1, f->session.errors, (f->session.error_count - 1) * sizeof r);
    f->session.errors[0] = f->failed[r->sequence - 1] = r;
}

static const char *text_of(struct fixture *f)
{
    if (!utf8_is_valid(strbuf_string(&f->out), f->out.len))
        fail_msg("the text is no UTF-8: %s", strbuf_string(&f->out));
    return strbuf_string(&f->out);
}

static void assert_report(struct fixture *f, const char *expected)
{
    strbuf_clear(&f->out);
    report_evaluation(&f->out, &f->outcome, 16384);
    section_mark(&f->out);
    assert_string_equal(text_of(f), expected);
}

static void assert_backtrace(struct fixture *f, size_t from, size_t most, bool has_locals,
                             const char *expected)
{
    strbuf_clear(&f->out);
    report_backtrace(&f->out, f->record, from, most, has_locals);
    assert_string_equal(text_of(f), expected);
}

#define CASE(test) TEST_WITH(struct fixture, f, test, set_up, tear_down)

/* An outcome and its whole report. */
static const struct {
    const char *what, *reply, *report;
} reports[] = {
    {"report of a value is one line", "(1 :ok :values (\"3\") :package \"CL-USER\" :cut (nil))", "=> 3"},
    {"report of several values has a line each", "(1 :ok :values (\"1\" \"(A\n B)\" \"\"))",
     "=> 1\n=> (A\n B)\n=> "},
    {"report of no values states this", "(1 :ok :values ())", "; No values"},
    {"report of no values states this", "(1 :ok)", "; No values"},
    {"report warnings do not suppress values",
     "(1 :ok :values (\"42\") :warnings ((\"WARNING\" \"beware\")))", "[warnings]\nWARNING: beware\n\n=> 42"},
    {"report rounds times to milliseconds", "(1 :ok :values (\"1\") :timing (1499 1500 0 -5))",
     "=> 1\n; Timing: 1 ms real, 2 ms run, 0 ms GC, 0 bytes consed"},
    {"report rounds times to milliseconds", "(1 :ok :values (\"1\") :timing (1500))", "=> 1"},
    {"report marks where printing was stopped", "(1 :ok :values (\"(1 2\" \"3\") :cut (16000 nil))",
     "=> (1 2 [… printing stopped here …]\n=> 3"},
    {"report of an error does not repeat its message",
     "(1 :error :type \"SB-KERNEL::HEAP\" :classes (\"STORAGE-CONDITION\" \"CELL-ERROR\") :message \"X is "
     "unbound.\" :frames ((\"(F)\" nil)) :total-frames 1 :slots ((\"NAME\" \"X\")) :hint \"A "
     "STORAGE-CONDITION.\")",
     "[ERROR] SB-KERNEL::HEAP\nX is unbound.\n\n[Backtrace]\n0: (F)\n\n"
     "[Hint]\nA STORAGE-CONDITION.\n\n(error 1)"},
    {"frames of uiop are of loading only where something is loaded",
     "(1 :error :type \"E\" :message \"m\" :frames ((\"(UIOP/RUN:A)\" nil) (\"(UIOP/RUN:B)\" nil) (\"(F)\" "
     "nil)) :total-frames 3)",
     "[ERROR] E\nm\n\n[Backtrace]\n0: (UIOP/RUN:A)\n1: (UIOP/RUN:B)\n2: (F)\n\n(error 1)"},
    {"frames of uiop are of loading only where something is loaded",
     "(1 :error :type \"E\" :message \"m\" :frames ((\"(UIOP/RUN:A)\" nil) (\"(UIOP/RUN:B)\" nil) (\"(LOAD "
     "1)\" nil)) :total-frames 3)",
     "[ERROR] E\nm\n\n[Backtrace]\n0-2: (3 frames of loading)\n\n(error 1)"},
    {"report of the lisps own error omits slots that say nothing",
     "(1 :error :type \"SB-X::INDEX\" :classes (\"SIMPLE-CONDITION\" \"TYPE-ERROR\") :message \"Index 3, a "
     "bad one.\" :frames ((\"(F)\" nil)) :total-frames 1 :slots ((\"DATUM\" \"3\") (\"AXIS\" \"NIL\") "
     "(\"WHY\" \"\\\"a bad\\\"\") (\"ARRAY\" \"#(1 2)\")))",
     "[ERROR] SB-X::INDEX\nIndex 3, a bad one.\n\n[Backtrace]\n0: (F)\n\n[Slots]\nARRAY: #(1 2)\n\n(error "
     "1)"},
    {"report of an error leaves out slots whose values its message contains, not parts of words",
     "(1 :error :type \"E\" :message \"(/ 1 0) at /a, KEY-2\" :frames () :slots ((\"A\" \"/\") (\"B\" \"(1 "
     "0)\") (\"C\" \"#P\\\"/a\\\"\") (\"D\" \":KEY-2\") (\"E\" \"2\") (\"F\" \"\") (\"G\" \"()\") (\"H\" "
     "\"\\\"\")))",
     "[ERROR] E\n(/ 1 0) at /a, KEY-2\n\n[Slots]\nE: 2\nF: \nG: ()\nH: \"\n\n(error 1)"},
    {"report of an error leaves out what is empty",
     "(1 :error :type \"PROCESS-EXITED\" :message \"Exit code 3.\" :frames ())",
     "[ERROR] PROCESS-EXITED\nExit code 3.\n\n(error 1)"},
    {"report of an error without a message keeps its type",
     "(1 :error :type \"MY-APP::OUT-OF-STOCK\" :message \"\" :frames ((\"(F)\" nil)))",
     "[ERROR] MY-APP::OUT-OF-STOCK\n\n[Backtrace]\n0: (F)\n\n(error 1)"},
    {"warnings of files are grouped by file and kind",
     "(1 :ok :values () :warnings ((\"STYLE-WARNING\" \"unused X\" \"/p/a:b.lisp:3:14\" \"(DEFUN F (X))\") "
     "(\"WARNING\" \"typed\") (\"PROGRAM-ERROR\" \"bad\nlet\" \"/p/a:b.lisp:9\" nil) (\"STYLE-WARNING\" "
     "\"unused X\" \"/p/a:b.lisp:5\" nil) (\"WARNING\" \"no line\" \"/p/c.lisp\" nil)))",
     "[warnings]\nWARNING: typed\n"
     "/p/a:b.lisp: 1 error, 2 style warnings\n  line 9: PROGRAM-ERROR: bad\n    let\n"
     "  line 3, column 14: STYLE-WARNING: unused X (2 times; also line 5)\n    in (DEFUN F (X))\n"
     "/p/c.lisp: 1 warning\n  WARNING: no line\n\n; No values"},
    {"warnings of evaluated code have line column and form",
     "(1 :ok :values () :warnings ((\"WARNING\" \"a\" \":2:30\" \"(CAR 5)\") (\"WARNING\" \"b\" \":3:1\" "
     "nil)))",
     "[warnings]\nline 2, column 30: WARNING: a\n    in (CAR 5)\n"
     "line 3, column 1: WARNING: b\n\n; No values"},
    {"warnings that were not kept are counted",
     "(1 :ok :values () :warnings ((\"WARNING\" \"a\") (\"WARNING\" \"b\" \"x:1\" nil) (\"WARNING\" \"c\" "
     "\"x:2\" nil) (\"WARNING\" \"d\" \"x:3\" nil) (\"WARNING\" \"e\" \"x:4\" nil)) :warnings-lost 1500)",
     "[warnings]\nWARNING: a\nx: 4 warnings\n  line 1: WARNING: b\n  line 2: WARNING: c\n"
     "  line 3: WARNING: d\n[… get-output ref 1 returns all warnings that were kept …]\n"
     "[1,500 more warnings were not kept.]\n\n; No values"},
    {"a warning at several places is shown once with its lines",
     "(1 :ok :values () :warnings ((\"WARNING\" \"a\" \"x:7:1\" nil) (\"WARNING\" \"a\" \"x:9:1\" nil) "
     "(\"WARNING\" \"a\" \"x:9:5\" nil) (\"WARNING\" \"a\" \"y:9\" nil) (\"WARNING\" \"b\" \":2:1\" nil) "
     "(\"WARNING\" \"b\" \":3:1\" nil) (\"WARNING\" \"c\") (\"WARNING\" \"c\")))",
     "[warnings]\nline 2, column 1: WARNING: b (2 times; also line 3)\nWARNING: c (2 times)\n"
     "x: 3 warnings\n  line 7, column 1: WARNING: a (3 times; also line 9)\n"
     "y: 1 warning\n  line 9: WARNING: a\n\n; No values"},
    {"a warning at many places is shown with its first lines",
     "(1 :ok :values () :warnings ((\"W\" \"a\" \":1:1\") (\"W\" \"a\" \":2:1\") (\"W\" \"a\" \":3:1\") "
     "(\"W\" \"a\" \":4:1\") (\"W\" \"a\" \":5:1\") (\"W\" \"a\" \":6:1\") (\"W\" \"a\" \":7:1\")))",
     "[warnings]\nline 1, column 1: W: a (7 times; also lines 2, 3, 4, 5, 6, ...)\n"
     "[… get-output ref 2 returns all warnings …]\n\n; No values"},
    {"a warning that came often is counted",
     "(1 :ok :values () :warnings ((\"W\" \"a\" nil nil 1999) (\"W\" \"b\") (\"W\" \"a\")))",
     "[warnings]\nW: a (2,000 times)\nW: b\n\n; No values"},
};

CASE(each_outcome_has_its_report)
{
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        reply(f, reports[i].reply);
        strbuf_clear(&f->out);
        report_evaluation(&f->out, &f->outcome, 16384);
        if (strcmp(text_of(f), reports[i].report) != 0)
            fail_msg("%s: %s", reports[i].what, text_of(f));
    }
}

CASE(report_has_its_sections_in_order_with_a_blank_line_between)
{
    capture_add(&f->session.between, "tick\n", 5);
    notices_addf(&f->session.notices, "Between two calls: something.\n");
    print(f, WORKER_STDOUT, "out\n");
    print(f, WORKER_STDERR, "err 1\nerr 2\n");
    thread_failed(f, "worker-1",
                  "(1 :error :type \"SIMPLE-ERROR\" :message \"boom\" :frames ((\"(F)\" nil) (\"(L)\" "
                  "\"/usr/l.lisp:2\") (\"(G)\" \"g.lisp:3\") (\"(H)\" \"g.lisp:1\")))");
    thread_failed(f, "worker-2", "(1 :error :type \"SIMPLE-ERROR\" :message \"bang\" :hint \"Mind it.\")");
    thread_failed(f, "worker-3", "(1 :error :type \"SIMPLE-ERROR\" :message \"boom\")");
    reply(f, "(1 :ok :values (\"1\" \"2\") :warnings ((\"STYLE-WARNING\" \"unused X\") (\"WARNING\" "
             "\"two\nlines\")) :timing (12345 11000 400 32768))");
    assert_report(f, "[output between calls]\ntick\n\n"
                     "[stdout]\nout\n\n"
                     "[stderr]\nerr 1\nerr 2\n\n"
                     "[warnings]\nSTYLE-WARNING: unused X\nWARNING: two\nlines\n\n"
                     "=> 1\n=> 2\n"
                     "; Timing: 12 ms real, 11 ms run, 0 ms GC, 32,768 bytes consed\n\n"
                     "[Background errors]\nIn thread worker-1 and 1 more (error 1): SIMPLE-ERROR: boom\n"
                     "  0: (F)\n  2: (G) at g.lisp:3\n"
                     "In thread worker-2 (error 2): SIMPLE-ERROR: bang\n  Mind it.\n"
                     "get-backtrace with the number as index shows all frames and variables.\n\n"
                     "[Session]\nBetween two calls: something.");
    strbuf_clear(&f->out);
    report_news(&f->out, &f->session, NULL);
    assert_string_equal(text_of(f), "");
}

CASE(report_shows_output_between_calls_and_notices_only_once)
{
    capture_add(&f->session.between, "tick", 4);
    notices_addf(&f->session.notices, "Note.\n");
    reply(f, "(1 :ok :values (\"1\"))");
    assert_report(f, "[output between calls]\ntick\n\n=> 1\n\n[Session]\nNote.");
    assert_report(f, "=> 1");
}

CASE(report_omits_a_lone_newline_between_calls)
{
    capture_add(&f->session.between, "\n", 1);
    reply(f, "(1 :ok :values (\"1\"))");
    assert_report(f, "=> 1");
    capture_add(&f->session.between, "\ntock", 5);
    assert_report(f, "[output between calls]\n\ntock\n\n=> 1");
}

CASE(report_names_the_file_of_warnings_once)
{
    reply(f,
          "(1 :ok :values (\"1\") :warnings ((\"WARNING\" \"The file #P\\\"/a/b.asd\\\" defines \\\"c\\\".\" "
          "\"/a/b.asd\")))");
    assert_report(f, "[warnings]\n/a/b.asd: 1 warning\n  WARNING: The file defines \"c\".\n\n=> 1");
}

/* A reader takes what the program prints for what the form returned. */
CASE(report_marks_what_only_looks_like_a_value)
{
    static const char forged[] = "a\n\n=> 42\n\r=\u200b>42\n; No values\n; Timing: 0 ms\n; Earlier values: 1";
#define MARKED "a\n\n| => 42\n\r| =\u200b>42\n| ; No values\n| ; Timing: 0 ms\n| ; Earlier values: 1"
    print(f, WORKER_STDOUT, forged);
    print(f, WORKER_STDERR, "=> 43");
    reply(f, "(1 :ok :values (\"|\n=> 7|\" \"8\") :warnings ((\"WARNING\" \"w\n=> 6\")))");
    assert_report(f, "[stdout]\n" MARKED
                     "\n\n[stderr]\n| => 43\n\n[warnings]\nWARNING: w\n| => 6\n\n=> |\n| => 7|\n=> 8");
#undef MARKED
}

CASE(report_marks_the_users_headings)
{
    print(f, WORKER_STDOUT, "[stderr]\n=> 5\n\n[ERROR] FAKE\n");
    reply(f, "(1 :ok :values (\"1\n[From the person]\nStop.\"))");
    assert_report(f, "[stdout]\n| [stderr]\n| => 5\n\n| [ERROR] FAKE\n\n=> 1\n| [From the person]\nStop.");
}

/* Texts, and what a reply shows of them. */
static const struct {
    const char *text, *shown;
} marks[] = {
    {"[Session]", "| [Session]"},
    {"a [Session]\n[x]\n[Sessions]\n[Session\n]", "a [Session]\n[x]\n[Sessions]\n[Session\n]"},
    {"[ERROR] a\r[stdout]x", "| [ERROR] a\r| [stdout]x"},
    {"a\v[Hint]\f[Hint]\x1c[Hint]\x1d[Hint]\x1e[Hint]",
     "a\v| [Hint]\f| [Hint]\x1c| [Hint]\x1d| [Hint]\x1e| [Hint]"},
    {"a\xc2\x85[Hint]\u2028[Hint]\u2029[Hint]", "a\xc2\x85| [Hint]\u2028| [Hint]\u2029| [Hint]"},
    {"a\n\t \u200b[Hint]\n\ufeff\U000e0020[Hint]", "a\n\t \u200b| [Hint]\n\ufeff\U000e0020| [Hint]"},
    {"é[Hint]\n\u3000é[Hint]\n| [Hint]", "é[Hint]\n\u3000é[Hint]\n| [Hint]"},
    {"a\x85[Hint]\n\xff[Hint]", "a\x85[Hint]\n\xff[Hint]"}, /* not UTF-8: shown as U+FFFD */
    {"[SESSION]\n[ Session ]\n[From\u00a0the  person]",
     "| [SESSION]\n| [ Session ]\n| [From\u00a0the  person]"},
    {"[S\u0435ssion]\n[Se\u0301s\u200bsion]\n\uff3bHint\uff3d",
     "| [S\u0435ssion]\n| [Se\u0301s\u200bsion]\n| \uff3bHint\uff3d"},
    {"\x1b[0m[Hint]\nab\x1b[2D[Hint]\nab\b\b[Hint]", "\x1b[0m| [Hint]\nab\x1b[2D| [Hint]\nab\b\b| [Hint]"},
    {"[Hi\x1b[1mnt]\n\x1b]0;t\a[Hint]\n\xc2\x9b"
     "0m[Hint]",
     "| [Hi\x1b[1mnt]\n\x1b]0;t\a| [Hint]\n\xc2\x9b"
     "0m| [Hint]"},
    /* A terminal takes ESC [ H for a sequence, and a reader sees a heading. */
    {"\x1b[Hint]\n\xc2\x9b[Hint]\n\x1b"
     "7[Hint]",
     "| \x1b[Hint]\n| \xc2\x9b[Hint]\n\x1b"
     "7| [Hint]"},
    {"[\uff28\uff49\uff4e\uff54]\n[\U0001d5e6lots]", "| [\uff28\uff49\uff4e\uff54]\n| [\U0001d5e6lots]"},
    {"Result:\n1\nResult: 1\nTiming:", "| Result:\n1\nResult: 1\n| Timing:"},
    {"Привет всем\n[данные]\n=> 1", "Привет всем\n[данные]\n=> 1"},
};

TEST(section_marks_what_only_looks_like_a_heading)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct strbuf text = {0};
        for (int time = 0; time < 2; time++) {
            strbuf_adds(&text, time == 0 ? marks[i].text : "");
            text.settled = 0;
            section_mark(&text);
            assert_string_equal(text.bytes, marks[i].shown);
        }
        strbuf_fini(&text);
    }
}

TEST(section_keeps_its_own_headings_beside_forged_ones)
{
    struct strbuf text = {0}, whole = {0};
    strbuf_adds(&text, "[Session]\n");
    section_end(&text);
    section_begin(&text, HEADING_SESSION);
    section_end(&text);
    strbuf_adds(&text, "\n[Session]");
    section_mark(&text);
    strbuf_adds(&whole, "[Session]\n");
    section_add_marked(&whole, &text);
    strbuf_adds(&whole, "\n[Session]");
    section_mark(&whole);
    assert_string_equal(whole.bytes, "| [Session]\n| [Session]\n\n[Session]\n| [Session]\n| [Session]");
    strbuf_fini(&text);
    strbuf_fini(&whole);
}

/* "!" stands for a text of the program's. */
static const char *const forging[] = {
    "(1 :ok :values (\"!\" \"!\") :cut (t nil) :settings \"!\" :earlier (\"!\") :forms-done 2 "
    ":package \"!\" :package-changed t :warnings ((\"!\" \"!\" \"!\" \"!\") (\"!\" \"!\" \"/!:3:4\" \"!\")) "
    ":notes ((\"ERROR\" \"!\" \"!\" \"!\") (\"NOTE\" \"!\" nil nil)) :functions ((\"!\" \"!\")) "
    ":classes ((\"!\" \"!\")) :tools (\"!\") :systems (\"!\" \"!\") :left-out ((\"tools\" 3 \"!\")) "
    ":system \"!\" :tests 1 :failed 1 :framework \"!\" :verdict \"!\" :deleted (\"!\") "
    ":failures ((:kind :error :test \"!\" :place \"!\" :form \"!\" :expected \"!\" :actual \"!\" "
    ":reason \"!\" :type \"!\" :message \"!\" :hint \"!\" :frames ((\"!\" \"!\")))))",
    "(1 :error :type \"!\" :message \"!\" :frames ((\"!\" \"!\" (\"!\" \"!\")) (\"!\" nil)) :restarts "
    "((\"!\" "
    "\"!\" t)) :slots ((\"!\" \"!\")) :hint \"!\" :warnings ((\"!\" \"!\")) :package \"!\" :forms-done 1)",
};

/* The headings of all reports of a reply whose texts of the program's are ${theirs}. */
static void forge(struct fixture *f, const char *template, const char *theirs, struct strbuf *headings)
{
    struct strbuf text = {0}, out = {0};
    for (const char *c = template; *c != '\0'; c++)
        *c == '!' ? strbuf_adds(&text, theirs) : strbuf_addc(&text, *c);
    capture_add(&f->session.between, theirs, strlen(theirs));
    print(f, WORKER_STDOUT, theirs);
    print(f, WORKER_STDERR, theirs);
    notices_addf(&f->session.notices, "%s", theirs);
    notices_add(&f->session.notices, FACT(FACT_STAGED, .texts = {theirs}));
    reply(f, text.bytes);
    report_evaluation(&out, &f->outcome, 16384);
    strbuf_adds(&out, "\n");
    if (f->record != NULL) {
        report_last_error(&out, f->record);
        strbuf_adds(&out, "\n");
        report_backtrace(&out, f->record, 0, 9, true);
    } else {
        report_compilation(&out, f->outcome.reply);
        report_definitions(&out, f->outcome.reply);
        report_tests(&out, &f->session, f->outcome.reply);
    }
    section_mark(&out);
    heading_lines_add(headings, out.bytes, out.len);
    capture_fini(&f->output[0]);
    capture_fini(&f->output[1]);
    strbuf_fini(&text);
    strbuf_fini(&out);
}

/* Each heading of the reply to text with brackets is one that the reply to the same text without them has. */
CASE(report_has_no_heading_of_the_programs)
{
#define HEADING_PART(name, words) words,
    static const char *const parts[] = {HEADINGS(HEADING_PART) "\n",
                                        "\n",
                                        "\r",
                                        "\v",
                                        "\f",
                                        "\xc2\x85",
                                        "\u2028",
                                        "\u2029",
                                        "\u200b",
                                        " ",
                                        "a",
                                        "[",
                                        "]",
                                        "é"};
#undef HEADING_PART
    unsigned seed = 1;
    for (int round = 0; round < 400; round++) {
        char theirs[400] = "", plain[400];
        for (int part = 0; part < 12; part++)
            strcat(theirs, parts[(size_t)rand_r(&seed) % (sizeof parts / sizeof *parts)]);
        strcpy(plain, theirs);
        for (char *c; (c = strchr(plain, '[')) != NULL;)
            *c = '{';
        struct strbuf with = {0}, without = {0};
        forge(f, forging[round % 2], theirs, &with);
        forge(f, forging[round % 2], plain, &without);
        assert_string_equal(strbuf_string(&with), strbuf_string(&without));
        assert_true(with.len > 0);
        strbuf_fini(&with);
        strbuf_fini(&without);
    }
}

CASE(report_makes_valid_text_of_any_output)
{
    print(f, WORKER_STDOUT, "caf\xC3\xA9 \xFF\xC3");
    reply(f, "(1 :ok :values ())");
    assert_report(f, "[stdout]\ncafé \uFFFD\uFFFD\n\n; No values");
}

static const struct {
    const char *template, *text;
} templates[] = {
    {"{0}: {1}{2}; ", "AREA: 2; SIDE: -1; "},
    {"{2?<{2*, |{}}>}{2!-}", "-<x, 3, key>"},
    {"{#1 piece}, {#2 item}. ", "2 pieces, 0 items. 0 pieces, 3 items. "},
    {"{side?{side} {,side}}", "1500 1,500"},
    {"{note>  }|{note/    }", "  a\n  b|a\n    b|"},
    {"{0?{1?{0}}}{missing}{missing!.}", "AREA.."},
    {"{1:4}{missing:3}{side:6ms}|", "   2  0 1.500|   0  0 0.000|"},
    {"{0=SIDE?{side=x?y}{1}}{0=SID?x}{missing=?x}|", "|-1|"},
};

TEST(a_template_is_filled_in_with_the_values_of_a_list)
{
    static const char text[] = "((\"AREA\" 2 nil :side 1500 :note \"a\nb\") (\"SIDE\" -1 (\"x\" 3 :key)))";
    struct sexp_document *document = parsed(text);
    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++) {
        struct strbuf out = {0};
        reply_fill_each(&out, sexp_root(document), templates[i].template);
        assert_string_equal(strbuf_string(&out), templates[i].text);
        strbuf_fini(&out);
    }
    sexp_document_free(document);
}

CASE(report_survives_a_reply_of_other_shapes)
{
    static const char *const replies[] = {
        "(1 :ok :values 5 :warnings t :timing \"x\" :inbox 3)",
        "(1 :ok :values (1 nil (\"2\")) :warnings (1 (2) (nil nil)) :cut 4 :timing (\"a\" :b nil (1)) :inbox "
        "(1 (:where 3 :frames (1 (2)))))",
        "(1 :error :type nil :message 5 :frames 7 :restarts (1 (2 3)) :slots (1 (2 3)) :hint 4 :warnings "
        "(nil))",
        "(1 :error :type \"E\" :frames (1 (2) (nil \"x\" 3 (4))) :restarts t :slots t :inbox ((1 2)))",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        reply(f, replies[i]);
        strbuf_clear(&f->out);
        report_evaluation(&f->out, &f->outcome, 16384);
        text_of(f);
        json_t *data = report_structured(&f->outcome, 200);
        assert_non_null(data);
        json_decref(data);
    }
}

CASE(report_cuts_outputs_and_keeps_them)
{
    for (int i = 0; i < 100; i++) {
        print(f, WORKER_STDOUT, "0123456789");
        print(f, WORKER_STDERR, "abcdefghi\n");
    }
    reply(f, "(1 :ok :values (\"1\"))");
    strbuf_clear(&f->out);
    report_evaluation(&f->out, &f->outcome, 300);
    const char *text = text_of(f);
    assert_non_null(strstr(text, "\n[… 700 of 1,000 bytes left out; get-output ref 1 …]\n0123456789"));
    assert_non_null(strstr(text, " of 1,000 bytes left out; get-output ref 2 …]\n"));
    assert_non_null(strstr(text, "0123456789\n\n[stderr]\nabcdefghi\n"));
    assert_string_equal(text + f->out.len - 15, "abcdefghi\n\n=> 1");
    assert_int_equal(f->session.last_ref, 2);
    assert_int_equal(f->session.kept[1].total, 1000);
    assert_int_equal(f->session.kept[2].total, 1000);
    assert_int_equal(f->output[0].total, 0);
}

CASE(report_cuts_values_and_keeps_them)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "(1 :ok :values (\"short\" \"");
    for (int i = 0; i < 500; i++)
        strbuf_addc(&text, 'x');
    strbuf_adds(&text, "\" \"after\"))");
    reply(f, strbuf_string(&text));
    strbuf_fini(&text);
    report_evaluation(&f->out, &f->outcome, 300);
    const char *shown = text_of(f);
    assert_memory_equal(shown, "=> short\n=> xxx", 15);
    assert_non_null(strstr(shown, "x\n[… 200 of 500 bytes left out; get-output ref 1 …]\nx"));
    assert_non_null(strstr(shown, "x\n=> after"));
    assert_int_equal(f->session.kept[1].total, 500);
}

static const char division[] =
    "(1 :error :type \"DIVISION-BY-ZERO\" :classes (\"DIVISION-BY-ZERO\" \"ARITHMETIC-ERROR\" \"ERROR\") "
    ":message \"arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).\" :frames ((\"(FOO 1 2 "
    "3)\" nil) (\"(BAR X)\" \"/tmp/bar.lisp:12\") (\"(EVAL (BAR X))\" nil)) :total-frames 3 :restarts "
    "((\"RETRY\" \"Retry calling FOO.\" nil) (\"USE-VALUE\" \"Call specified function.\" t) (\"ABORT\" "
    "\"Return to top level.\" nil)) :slots ((\"DATUM\" \"42\") (\"EXPECTED-TYPE\" \"LIST\")) :hint \"Look at "
    "X.\")";

CASE(report_of_an_error_has_all_its_sections)
{
    print(f, WORKER_STDOUT, "before\n");
    reply(f, division);
    assert_report(f, "[stdout]\nbefore\n\n"
                     "[ERROR] DIVISION-BY-ZERO\n"
                     "arithmetic error DIVISION-BY-ZERO signalled\n"
                     "Operation was (/ 1 0).\n\n"
                     "[Backtrace]\n"
                     "0: (FOO 1 2 3)\n"
                     "1: (BAR X) at /tmp/bar.lisp:12\n"
                     "2: (EVAL (BAR X))\n\n"
                     "[Restarts]\n"
                     "1. [RETRY] Retry calling FOO.\n"
                     "2. [USE-VALUE] Call specified function. (takes a value)\n"
                     "3. [ABORT] Return to top level.\n\n"
                     "[Slots]\n"
                     "DATUM: 42\n"
                     "EXPECTED-TYPE: LIST\n\n"
                     "[Hint]\n"
                     "Look at X.\n\n"
                     "(error 1)");
}

/* Nothing could be invoked on it, and get-backtrace shows another one. */
CASE(report_of_an_error_that_is_not_kept_offers_no_restarts)
{
    reply(f, "(1 :error :type \"E\" :message \"m\" :frames ((\"(F)\" nil)) :total-frames 30 :restarts "
             "((\"RETRY\" \"Again.\" nil)) :slots ((\"A\" \"1\")))");
    f->record->sequence = 0;
    assert_report(f, "[ERROR] E\nm\n\n[Backtrace]\n0: (F)\n... 29 more frames\n\n[Slots]\nA: 1");
}

CASE(report_of_an_error_shows_warnings_time_and_what_the_session_says)
{
    reply(f, "(1 :error :type \"E\" :message \"m\" :frames ((\"(F)\" nil)) :warnings ((\"WARNING\" \"w\")) "
             ":timing (1000 1000 0 16))");
    f->record->session_note = strdup("Its definitions are gone.");
    assert_report(f, "[warnings]\nWARNING: w\n\n[ERROR] E\nm\n\n[Backtrace]\n0: (F)\n\n(error 1)\n"
                     "; Timing: 1 ms real, 1 ms run, 0 ms GC, 16 bytes consed\n\n"
                     "[Session]\nIts definitions are gone.");
}

/* A reply with ${kept} frames of ${total}. */
static void reply_with_frames(struct fixture *f, int kept, int total)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "(1 :error :type \"E\" :message \"m\" :frames (");
    for (int i = 0; i < kept; i++)
        strbuf_addf(&text, "%s(\"(F%d)\" nil)", i == 0 ? "" : " ", i);
    strbuf_addf(&text, ") :total-frames %d)", total);
    reply(f, strbuf_string(&text));
    strbuf_fini(&text);
}

static void assert_ends(struct fixture *f, const char *expected)
{
    const char *text = text_of(f);
    size_t len = strlen(text), want = strlen(expected);
    if (len < want || strcmp(text + len - want, expected) != 0)
        fail_msg("\"%s\" does not end in \"%s\"", text, expected);
}

CASE(report_shows_twenty_frames_and_counts_the_rest)
{
    static const struct {
        int kept, total;
        const char *end;
    } rows[] = {
        {20, 20, "\n18: (F18)\n19: (F19)\n\n(error 1)"},
        {21, 21, "\n19: (F19)\n... 1 more frame; see get-backtrace\n\n(error 1)"},
        {25, 25, "\n19: (F19)\n... 5 more frames; see get-backtrace\n\n(error 1)"},
        {100, 1020, "\n19: (F19)\n... 1,000 more frames; see get-backtrace\n\n(error 1)"},
        {100, -5020, "\n19: (F19)\n... more than 5,000 more frames; see get-backtrace\n\n(error 1)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reply_with_frames(f, rows[i].kept, rows[i].total);
        strbuf_clear(&f->out);
        report_evaluation(&f->out, &f->outcome, 16384);
        assert_ends(f, rows[i].end);
    }
}

CASE(the_first_of_many_restarts_and_the_last_are_shown)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "(1 :error :type \"E\" :message \"m\" :restarts (");
    for (int i = 0; i < 500; i++)
        strbuf_addf(&text, "(\"\" \"%c\" nil) (\"\" \"same\" nil) ", 'a' + i % 26);
    for (int i = 0; i < 500; i++)
        strbuf_addf(&text, "(\"%d\" \"\" nil) ", i);
    strbuf_adds(&text, "(\"ABORT\" \"\" nil)))");
    reply(f, strbuf_string(&text));
    strbuf_fini(&text);
    report_evaluation(&f->out, &f->outcome, 16384);
    const char *report = text_of(f);
    assert_non_null(strstr(report, "\n1. [] a\n2. [] same\n3. [] b\n5. [] c\n"));
    assert_non_null(strstr(report, "\n51. [] z\n1001. [0] \n1002. [1] \n"));
    assert_non_null(strstr(report, "\n1501. [ABORT]"));
    assert_null(strstr(report, "\n1500. "));
}

CASE(last_error_is_described_with_restarts_and_five_frames)
{
    reply(f, division);
    f->record->when.tv_sec = 1700000000;
    f->record->sequence = 3;
    report_last_error(&f->out, f->record);
    assert_string_equal(text_of(f),
                        "Error: DIVISION-BY-ZERO\n"
                        "  arithmetic error DIVISION-BY-ZERO signalled\n"
                        "  Operation was (/ 1 0).\n\n"
                        "Available Restarts:\n"
                        "  1. RETRY - Retry calling FOO.\n"
                        "  2. USE-VALUE - Call specified function.\n"
                        "  3. ABORT - Return to top level.\n\n"
                        "Backtrace (top 5 frames):\n"
                        "  0: (FOO 1 2 3)\n"
                        "  1: (BAR X) at /tmp/bar.lisp:12\n"
                        "  2: (EVAL (BAR X))\n\n"
                        "Error 3 of this session, at 2023-11-14T22:13:20Z. get-backtrace shows all frames, "
                        "and their variables with locals: true. evaluate-in-frame and invoke-restart enter "
                        "it while list-errors says that it can be entered.");
}

CASE(last_error_shows_no_more_than_five_frames)
{
    reply_with_frames(f, 30, 30);
    report_last_error(&f->out, f->record);
    assert_non_null(strstr(text_of(f), "\n  4: (F4)\n\n"));
    assert_null(strstr(text_of(f), "5: (F"));
}

CASE(last_error_without_restarts_or_frames_states_this)
{
    reply(f, "(1 :error :type \"E\" :message \"\" :frames ())");
    report_last_error(&f->out, f->record);
    const char expected[] =
        "Error: E\n\nAvailable Restarts:\n  (none)\n\nBacktrace (top 5 frames):\n  (no frames)\n\n";
    assert_memory_equal(text_of(f), expected, sizeof expected - 1);
}

CASE(without_an_error_both_tools_use_the_same_words)
{
    static const char words[] =
        "No error available.\n(No error has occurred since the last successful evaluation.)";
    report_last_error(&f->out, NULL);
    assert_string_equal(text_of(f), words);
    assert_backtrace(f, 0, 20, true, words);
}

CASE(looking_again_gives_the_same_text)
{
    struct strbuf again;
    reply(f, division);
    report_last_error(&f->out, f->record);
    for (int i = 0; i < 100; i++) {
        strbuf_init(&again, 0);
        report_last_error(&again, f->record);
        assert_string_equal(strbuf_string(&again), text_of(f));
        strbuf_fini(&again);
    }
}

CASE(backtrace_has_all_frames_from_zero)
{
    reply(f, division);
    assert_backtrace(f, 0, 20, false,
                     "Backtrace of error 1 (3 frames):\n0: (FOO 1 2 3)\n1: (BAR X) at /tmp/bar.lisp:12\n"
                     "2: (EVAL (BAR X))");
}

CASE(backtrace_shows_locals_under_each_frame)
{
    reply(f, division);
    f->record->details = parsed("(2 :ok :frames ((\"(FOO 1 2 3)\" nil (\"A\" \"1\") (\"B\" \"(2\n 3)\")) "
                                "(\"(BAR X)\" \"b.lisp:1\")) :total 2)");
    assert_backtrace(f, 0, 20, true,
                     "Backtrace of error 1 (3 frames):\n"
                     "0: (FOO 1 2 3)\n     A = 1\n     B = (2\n 3)\n"
                     "1: (BAR X) at b.lisp:1\n     (no locals known)\n"
                     "... 1 more frame, not kept");
    assert_backtrace(f, 0, 1, false,
                     "Backtrace of error 1 (3 frames):\n0: (FOO 1 2 3)\n"
                     "... more frames; max-frames and from show them\n... 1 more frame, not kept");
}

CASE(backtrace_shows_the_requested_part)
{
    static const struct {
        int kept, total;
        size_t from, most;
        const char *text;
    } rows[] = {
        {100, 250, 10, 2,
         "(250 frames):\n10: (F10)\n11: (F11)\n... more frames; max-frames and from show them\n"
         "... 150 more frames, not kept"},
        {100, 250, 99, 20, "(250 frames):\n99: (F99)\n... 150 more frames, not kept"},
        {100, 250, 100, 20, "(250 frames):\n(no frame from 100 on is kept)\n... 150 more frames, not kept"},
        {100, -1000, 99, 20, "(more than 1,000 frames):\n99: (F99)\n... more than 900 more frames, not kept"},
        {1, 1, 0, 20, "(1 frame):\n0: (F0)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "Backtrace of error 1 %s", rows[i].text);
        reply_with_frames(f, rows[i].kept, rows[i].total);
        assert_backtrace(f, rows[i].from, rows[i].most, false, expected);
    }
}

CASE(error_list_of_a_session_without_errors_states_this)
{
    report_error_list(&f->out, &f->session, 10, false);
    assert_string_equal(text_of(f), "No errors in this session.");
}

static struct error_record *an_error(const char *type, const char *message)
{
    struct error_record *r = error_record_make(type, message, NULL);
    r->when.tv_sec = 1700000000;
    return r;
}

CASE(error_list_is_newest_first_with_a_line_for_each)
{
    struct error_record *newer = an_error("TYPE-ERROR", "first line:\n   second line"),
                        *older = an_error("SIMPLE-ERROR", "first\nsecond");
    f->session.errors[0] = newer;
    f->session.errors[1] = older;
    f->session.error_count = 2;
    f->session.has_error = true;
    newer->sequence = 7;
    older->sequence = 4;
    error_record_cannot_be_entered(newer, FACT_TEXT, "It is past.");
    error_record_cannot_be_entered(newer, FACT_UNWOUND, NULL);
    report_error_list(&f->out, &f->session, 10, false);
    assert_string_equal(text_of(f), "2 errors, newest first:\n7. 22:13:20Z TYPE-ERROR: first line: second "
                                    "line (cannot be entered: It is past.)\n"
                                    "4. 22:13:20Z SIMPLE-ERROR: first (cannot be entered: The Lisp has left "
                                    "it, and no copy was made there.)");
    f->session.has_error = false;
    strbuf_clear(&f->out);
    report_error_list(&f->out, &f->session, 1, false);
    assert_string_equal(text_of(f),
                        "2 errors, newest first; none since the last successful evaluation:\n7. 22:13:20Z "
                        "TYPE-ERROR: first line: second line (cannot be entered: It is past.)\n... 1 more");
    error_record_free(newer);
    error_record_free(older);
}

CASE(error_list_cuts_long_lines_between_characters)
{
    for (size_t shift = 0; shift < 4; shift++) {
        char message[600] = "xxxx";
        for (size_t i = shift; i + 2 < sizeof message; i += 2)
            memcpy(message + i, "é", 3);
        struct error_record *r = an_error("E", message);
        f->session.errors[0] = r;
        f->session.error_count = 1;
        strbuf_clear(&f->out);
        report_error_list(&f->out, &f->session, 10, false);
        text_of(f);
        assert_true(f->out.len < 480);
        error_record_free(r);
    }
}

CASE(definitions_are_listed_by_kind_in_a_fixed_order)
{
    reply(f, "(1 :ok :systems (\"alexandria\") :functions ((\"SQUARE\" \"(X)\") (\"F\" \"()\")) :variables "
             "((\"*COUNTER*\" \"0\")) :macros ((\"WHEN-LET\" \"(BINDING &BODY BODY)\")) :classes ((\"POINT\" "
             "\"(X Y)\")) :methods ((\"AREA\" \"((S SQUARE))\")) :packages (\"MY-APP\"))");
    assert_true(report_definitions(&f->out, f->outcome.reply));
    assert_string_equal(text_of(f), "[Functions]\n- SQUARE (X)\n- F ()\n\n"
                                    "[Variables]\n- *COUNTER* = 0\n\n"
                                    "[Macros]\n- WHEN-LET (BINDING &BODY BODY)\n\n"
                                    "[Classes]\n- POINT (X Y)\n\n"
                                    "[Methods]\n- AREA ((S SQUARE))\n\n"
                                    "[Packages]\n- MY-APP\n\n"
                                    "[Loaded Systems]\nalexandria");
}

CASE(loaded_systems_are_one_line_cut_unless_they_were_asked_for)
{
    static const char *const beginnings[] = {"(1 :ok :functions nil :systems (", "(1 :ok :systems ("};
    for (size_t k = 0; k < 2; k++) {
        struct strbuf text = {0};
        strbuf_adds(&text, beginnings[k]);
        for (int i = 0; i < 30; i++)
            strbuf_addf(&text, "\"s%d\" ", i);
        strbuf_adds(&text, "))");
        reply(f, strbuf_string(&text));
        strbuf_clear(&f->out);
        report_definitions(&f->out, f->outcome.reply);
        assert_memory_equal(text_of(f), "[Loaded Systems]\ns0, s1, s2, ", 29);
        assert_ends(f, k == 0 ? ", s18, s19, …; type: systems shows all" : ", s28, s29");
        assert_null(strchr(text_of(f) + 17, '\n'));
        strbuf_fini(&text);
    }
}

CASE(a_new_session_has_no_definitions)
{
    reply(f, "(1 :ok :functions () :variables nil)");
    assert_false(report_definitions(&f->out, f->outcome.reply));
    assert_string_equal(text_of(f), "");
}

CASE(definitions_that_are_left_out_are_counted)
{
    reply(f, "(1 :ok :left-out ((\"functions\" 2998 2)) :functions ((\"A\" \"()\") (\"B\" \"()\")) :macros "
             "((\"C\" \"()\")))");
    assert_true(report_definitions(&f->out, f->outcome.reply));
    assert_string_equal(text_of(f),
                        "[Functions]\n- A ()\n- B ()\n… 2,998 more; from: 2 shows them\n\n[Macros]\n- C ()");
}

CASE(the_first_of_many_warnings_are_shown_and_all_are_kept)
{
    reply(f, "(1 :ok :values () :warnings ((\"WARNING\" \"a\" \"x:1\" nil) (\"WARNING\" \"b\" \"x:2\" nil) "
             "(\"WARNING\" \"c\" \"x:3\" nil) (\"WARNING\" \"d\" \"x:4\" nil)))");
    assert_report(
        f, "[warnings]\nx: 4 warnings\n  line 1: WARNING: a\n  line 2: WARNING: b\n  line 3: WARNING: c\n"
           "[… get-output ref 1 returns all warnings …]\n\n; No values");
    char kept[200];
    size_t len = capture_read(&f->session.kept[1], 0, kept, sizeof kept - 1);
    kept[len] = '\0';
    assert_string_equal(kept, "x: 4 warnings\n  line 1: WARNING: a\n  line 2: WARNING: b\n  line 3: WARNING: "
                              "c\n  line 4: WARNING: d\n");
}

CASE(warnings_that_are_too_many_for_the_server_are_counted)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "(1 :ok :values () :warnings (");
    for (int i = 0; i < 2100; i++)
        strbuf_addf(&text, "%s(\"WARNING\" \"%s\")", i == 0 ? "" : " ", i < 2000 ? "a" : "b");
    strbuf_adds(&text, ") :warnings-lost 50)");
    reply(f, strbuf_string(&text));
    strbuf_fini(&text);
    assert_report(f,
                  "[warnings]\nWARNING: a (2,000 times)\n[150 more warnings were not kept.]\n\n; No values");
}

static void assert_tests(struct fixture *f, const char *text, bool is_failed, const char *expected)
{
    reply(f, text);
    strbuf_clear(&f->out);
    assert_int_equal(report_tests(&f->out, &f->session, f->outcome.reply), is_failed);
    assert_string_equal(text_of(f), expected);
}

CASE(tests_that_passed_are_counted)
{
    assert_tests(f,
                 "(1 :ok :system \"shop\" :framework \"RT\" :tests 1200 :passed 1200 :failed 0 :errors 0 "
                 ":skipped 0 :known 0)",
                 false,
                 "shop: passed. 1,200 tests: 1,200 passed, 0 failed, 0 with an unexpected error (RT).");
    assert_tests(
        f,
        "(1 :ok :system \"shop\" :framework nil :fallback t :tests 0 :passed 2 :failed 0 :errors 0 :skipped "
        "1 :known 1)",
        false,
        "shop: passed. 2 passed, 0 failed, 0 with an unexpected error, 1 failed as expected, 1 skipped.\n"
        "The system's test operation runs no tests, so the tests in its files were run.");
    assert_tests(f, "(1 :ok :system \"shop\" :tests 0)", false,
                 "shop: its test operation ended without an error.\nNo test of a supported framework ran, so "
                 "nothing was counted.");
}

#define USE                                                                                                  \
    "get-backtrace takes the number of an error as index, and so do evaluate-in-frame and invoke-restart "   \
    "if it can be entered."

CASE(tests_that_failed_have_all_that_is_known_of_them)
{
    /* Another error stands between those of the run, and those of an earlier run follow. */
    struct error_record *met[] = {an_error("C", "x"), an_error("B", "of a thread"),
                                  an_error("TYPE-ERROR", "x"), an_error("A", "old")};
    met[0]->met = 2;
    met[2]->met = met[3]->met = 1;
    for (int i = 0; i < 4; i++) {
        f->session.errors[i] = met[i];
        met[i]->sequence = 9 - i;
    }
    met[2]->stands_here = true;
    f->session.error_count = 4;
    assert_tests(
        f,
        "(1 :ok :system \"s\" :framework \"F\" :tests 2 :passed 1 :failed 1 :errors 1 :verdict \"no\" "
        ":failures ((:test \"A\" :kind :failed :form \"(= 1 2)\" :expected \"1\nor 2\" :actual \"2\" :reason "
        "nil) (:test \"B\" :kind :error :type \"TYPE-ERROR\" :message \"x\ny\" :frames ((\"(G)\" "
        "\"g.lisp:3\") (\"(H)\" nil)) :stop 1) (:test \"C\" :kind :known)))",
        true,
        "s: FAILED. 2 tests, 3 checks: 1 passed, 1 failed, 1 with an unexpected error (F).\nThe system's "
        "test operation then signalled: no\n\n"
        "1. FAILED: A\n  form: (= 1 2)\n  expected: 1\n            or 2\n  actual: 2\n\n"
        "2. ERROR: B\n  condition: TYPE-ERROR\n    x\n    y\n    0: (G) at g.lisp:3\n    1: (H)\n"
        "  error 7\n\n"
        "3. FAILED, as expected: C\n\n" USE);
    met[2]->stands_here = false;
    assert_tests(f, "(1 :ok :system \"s\" :errors 1 :failures ((:test \"B\" :kind :error :stop 2)))", true,
                 "s: FAILED. 0 passed, 0 failed, 1 with an unexpected error.\n\n"
                 "1. ERROR: B\n  error 9, which cannot be entered\n\n" USE);
    f->session.error_count = 0;
    for (size_t i = 0; i < 4; i++)
        error_record_free(met[i]);
}

CASE(results_of_other_shapes_do_no_harm)
{
    static const char *const replies[] = {
        "(1 :ok)",
        "(1 :ok :failures t :tests \"x\")",
        "(1 :ok :tests -1 :failed 1 :failures (nil 5 \"x\" (:test) (:stop 99 :frames 7 :message 3)))",
        "(1 :ok :passed 1 :failures ((:kind :error :type \"\" :message nil :frames ((nil nil)) :stop "
        "9223372036854775807)))",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        reply(f, replies[i]);
        strbuf_clear(&f->out);
        report_tests(&f->out, &f->session, f->outcome.reply);
        text_of(f);
    }
    reply(f, "(1 :ok :warnings (nil 1 (\"A\") (nil nil \":\") (\"W\" nil \"\") (\"W\" \"m\" \"1\" 3) (\"W\" "
             "\"m\" \":7\")))");
    strbuf_clear(&f->out);
    report_evaluation(&f->out, &f->outcome, 16384);
    text_of(f);
}

static void assert_structured(struct fixture *f, const char *expected)
{
    json_t *data = report_structured(&f->outcome, 200);
    assert_non_null(data);
    json_error_t err;
    json_t *wanted = json_loads(expected, 0, &err);
    if (wanted == NULL)
        fail_msg("%s", err.text);
    if (!json_equal(data, wanted)) {
        char *text = json_dumps(data, JSON_SORT_KEYS);
        fail_msg("%s", text);
    }
    json_decref(data);
    json_decref(wanted);
}

CASE(structured_values_output_warnings_and_timing)
{
    print(f, WORKER_STDOUT, "o\n");
    print(f, WORKER_STDERR, "e\xFF");
    reply(
        f,
        "(1 :ok :values (\"1\" \"2\") :warnings ((\"WARNING\" \"w\" \"x:1:2\" \"(F)\")) :timing (1 2 3 4))");
    assert_structured(
        f, "{\"values\":[\"1\",\"2\"],\"stdout\":\"o\\n\",\"stderr\":\"e\\ufffd\",\"warnings\":[{\"type\":"
           "\"WARNING\",\"message\":\"w\",\"place\":\"x:1:2\",\"form\":\"(F)\"}],\"package\":\"MY-APP\","
           "\"session\":{\"name\":\"default\",\"pid\":4711},\"timing\":{\"realMicroseconds\":1,"
           "\"runMicroseconds\":2,\"gcMicroseconds\":3,\"bytesConsed\":4}}");
}

CASE(structured_error_has_all_its_parts)
{
    reply(f, "(1 :error :type \"TYPE-ERROR\" :classes (\"TYPE-ERROR\" \"ERROR\") :message \"m\" :frames "
             "((\"(F)\" \"a:1\" (\"X\" \"1\")) (\"(G)\" nil)) :total-frames -7 :restarts ((\"RETRY\" "
             "\"Again.\" nil) (\"USE-VALUE\" \"Use.\" t)) :slots ((\"DATUM\" \"42\")))");
    assert_structured(
        f, "{\"values\":[],\"stdout\":\"\",\"stderr\":\"\",\"warnings\":[],\"package\":\"MY-APP\","
           "\"session\":{\"name\":\"default\",\"pid\":4711},\"error\":{\"number\":1,\"type\":\"TYPE-ERROR\","
           "\"classes\":[\"TYPE-ERROR\",\"ERROR\"],\"message\":\"m\",\"slots\":{\"DATUM\":\"42\"},"
           "\"restarts\":[{\"index\":1,\"name\":\"RETRY\",\"description\":\"Again.\",\"takesValue\":false},{"
           "\"index\":2,\"name\":\"USE-VALUE\",\"description\":\"Use.\",\"takesValue\":true}],\"frames\":[{"
           "\"index\":0,\"call\":\"(F)\",\"source\":\"a:1\",\"locals\":{\"X\":\"1\"}},{\"index\":1,\"call\":"
           "\"(G)\",\"source\":null,\"locals\":{}}],\"totalFrames\":7}}");
}

CASE(structured_content_is_bounded_and_names_what_is_cut)
{
    for (size_t i = 0; i < 100000; i++)
        print(f, WORKER_STDOUT, "\xC3\xA4");
    struct strbuf values;
    strbuf_init(&values, 0);
    strbuf_adds(&values, "(1 :ok :values (");
    for (size_t i = 0; i < 1000; i++)
        strbuf_adds(&values, "\"\" ");
    strbuf_adds(&values, ") :warnings ((\"WARNING\" \"");
    for (size_t i = 0; i < 1000; i++)
        strbuf_adds(&values, "\xC3\xA4");
    strbuf_adds(&values, "\" \":2:3\") (\"WARNING\" \"w\")))");
    reply(f, strbuf_string(&values));
    json_t *data = report_structured(&f->outcome, 200);
    char *text = json_dumps(data, 0);
    assert_non_null(text);
    assert_true(strlen(text) >= 400 && strlen(text) <= 1500);
    assert_int_equal(json_array_size(json_object_get(data, "values")), 200 / 16);
    assert_int_equal(json_array_size(json_object_get(data, "warnings")), 1);
    json_t *wanted = json_pack("[s, s, s]", "values", "stdout", "warnings");
    assert_true(json_equal(json_object_get(data, "truncated"), wanted));
    json_decref(wanted);
    json_decref(data);
    free(text);
    strbuf_fini(&values);
}
