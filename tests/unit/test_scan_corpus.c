/*
 * The scanner against Lisp that people wrote: no false alarm on whole files, and with one parenthesis removed
 * or added at random the fault is found and the top-level form that was changed is named.
 *
 * CL_MCP_TEST_SEED  a number; printed, so that a run can be repeated
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OWN_MAIN
#include "../cases.h"
#include "scan/scan.h"
#include "scan/scan_lexer.h"

#ifndef TEST_DATA
#define TEST_DATA "tests/data"
#endif

#define SOURCES "/usr/share/common-lisp/source"

enum { CHANGED_FILES = 100, MAX_FILES = 20000, MAX_OWN_SYNTAX = 200, MAX_PATH_LENGTH = 1024 };

/* nftw passes no argument through, so what it finds is kept here. */
static char *files[MAX_FILES];
static size_t file_count;
static char *own_syntax[MAX_OWN_SYNTAX];
static size_t own_syntax_count;

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static int on_file(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)where;
    if (kind == FTW_F && ends_with(path, ".lisp") && file_count < MAX_FILES)
        files[file_count++] = strdup(path);
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_file(const char *path, char **text, size_t *len)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (!file)
        return false;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    rewind(file);
    *text = malloc(size > 0 ? (size_t)size : 1);
    *len = size > 0 && *text ? fread(*text, 1, (size_t)size, file) : 0;
    fclose(file);
    return *text != NULL && size >= 0;
}

static void read_own_syntax(void)
{
    char path[MAX_PATH_LENGTH], line[MAX_PATH_LENGTH];
    snprintf(path, sizeof(path), "%s/scan-own-syntax.txt", TEST_DATA);
    FILE *list = fopen(path, "r");
    if (!list)
        fail_msg("cannot read %s", path);
    while (fgets(line, sizeof(line), list) && own_syntax_count < MAX_OWN_SYNTAX) {
        line[strcspn(line, "\t\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0')
            own_syntax[own_syntax_count++] = strdup(line);
    }
    fclose(list);
}

static bool has_own_syntax(const char *path)
{
    for (size_t i = 0; i < own_syntax_count; i++) {
        if (ends_with(path, own_syntax[i]))
            return true;
    }
    return false;
}

static int find_sources(void **state)
{
    (void)state;
    read_own_syntax();
    nftw(SOURCES, on_file, 16, 0);
    qsort(files, file_count, sizeof(files[0]), compare_paths);
    return 0;
}

static int forget_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < file_count; i++)
        free(files[i]);
    for (size_t i = 0; i < own_syntax_count; i++)
        free(own_syntax[i]);
    return 0;
}

static void skip_without_sources(void)
{
    if (file_count > 0)
        return;
    print_message("# skipped: no *.lisp under %s\n", SOURCES);
    skip();
}

TEST(no_file_gives_a_false_alarm)
{
    size_t alarms = 0, bytes = 0, passed_over = 0, forms = 0;
    clock_t ticks = 0;
    skip_without_sources();
    for (size_t i = 0; i < file_count; i++) {
        struct scan_result result;
        char *text;
        size_t len;
        clock_t start;
        if (has_own_syntax(files[i])) {
            passed_over++;
            continue;
        }
        if (!read_file(files[i], &text, &len))
            fail_msg("cannot read %s", files[i]);
        start = clock();
        result = scan_text(text, len);
        ticks += clock() - start;
        bytes += len;
        forms += result.forms;
        if (result.fault != SCAN_VALID) {
            alarms++;
            print_error("# false alarm in %s: fault %d at line %zu, column %zu\n", files[i],
                        (int)result.fault, result.at.line, result.at.column);
        }
        free(text);
    }
    print_message(
        "# %zu files, %zu bytes, %zu top-level forms in %.1f ms; %zu passed over for a syntax of their own\n",
        file_count - passed_over, bytes, forms, 1000.0 * (double)ticks / CLOCKS_PER_SEC, passed_over);
    assert_int_equal(alarms, 0);
}

/* A top-level form as the tokens make it: from its first prefix to its last byte. */
struct extent {
    size_t start;
    size_t end;
};

/* The top-level form that starts at the next token; false at the end of the text. */
static bool next_extent(struct scan_lexer *lexer, struct extent *extent)
{
    size_t depth = 0, needed = 1;
    bool is_begun = false;
    while (needed > 0) {
        struct scan_token token = scan_lexer_next(lexer);
        if (token.kind == SCAN_TOKEN_END)
            return false;
        if (!is_begun)
            extent->start = token.start;
        is_begun = true;
        extent->end = token.end;
        if (token.kind == SCAN_TOKEN_FEATURE && depth == 0)
            needed++;
        if (token.kind == SCAN_TOKEN_OPEN)
            depth++;
        if (token.kind == SCAN_TOKEN_CLOSE)
            depth--;
        if (depth == 0 && (token.kind == SCAN_TOKEN_CLOSE || token.kind == SCAN_TOKEN_ATOM))
            needed--;
    }
    return true;
}

enum change { REMOVE_OPEN, REMOVE_CLOSE, ADD_OPEN, ADD_CLOSE, CHANGES };

static const char *const change_names[CHANGES] = {"remove (", "remove )", "add (", "add )"};

/* Whether ${change} can be made at ${token}, ${depth} lists being open before it. */
static bool is_place_for(enum change change, const struct scan_token *token, size_t depth)
{
    switch (change) {
    case REMOVE_OPEN:
        return token->kind == SCAN_TOKEN_OPEN;
    case REMOVE_CLOSE:
        return token->kind == SCAN_TOKEN_CLOSE;
    case ADD_OPEN:
    case ADD_CLOSE:
        return depth > 0; /* added before the token */
    case CHANGES:
        break;
    }
    return false;
}

/* The ${wanted}-th place for ${change}, or with ${wanted} SIZE_MAX their number in ${count}. */
static bool find_place(const char *text, size_t len, enum change change, size_t wanted, size_t *count,
                       size_t *place)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, 0);
    size_t depth = 0;
    *count = 0;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END)
            return false;
        if (is_place_for(change, &token, depth) && (*count)++ == wanted) {
            *place = change == REMOVE_OPEN ? token.end - 1 : token.start;
            return true;
        }
        if (token.kind == SCAN_TOKEN_OPEN)
            depth++;
        if (token.kind == SCAN_TOKEN_CLOSE)
            depth--;
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t value = (*state += UINT64_C(0x9e3779b97f4a7c15));
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

struct tally {
    size_t tried, found, named, guessed, guessed_right;
};

static size_t line_of(const char *text, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static void try_change(const char *path, const char *text, size_t len, enum change change, uint64_t *random,
                       struct tally *tally)
{
    size_t count, place = 0, changed_len;
    struct extent extent = {0, 0};
    find_place(text, len, change, SIZE_MAX, &count, &place);
    if (count == 0)
        return;
    find_place(text, len, change, (size_t)(next_random(random) % count), &count, &place);
    char *changed = malloc(len + 1);
    assert_non_null(changed);
    memcpy(changed, text, place);
    if (change == REMOVE_OPEN || change == REMOVE_CLOSE) {
        changed_len = len - 1;
        memcpy(changed + place, text + place + 1, len - place - 1);
    } else {
        changed_len = len + 1;
        changed[place] = change == ADD_OPEN ? '(' : ')';
        memcpy(changed + place + 1, text + place, len - place);
    }
    struct scan_lexer lexer = scan_lexer_at(text, len, 0);
    while (next_extent(&lexer, &extent) && extent.end <= place)
        ;
    struct scan_result result = scan_text(changed, changed_len);
    /* The change is at the form's first byte or after it, so the form still starts where it did. */
    bool is_named = result.form.start.line > 0 && result.form.start.offset == extent.start;
    tally->tried++;
    tally->found += result.fault != SCAN_VALID;
    tally->named += is_named;
    if (result.suspect.line > 0) {
        tally->guessed++;
        tally->guessed_right += result.suspect.line == line_of(changed, place);
    }
    if (result.fault == SCAN_VALID)
        print_error("# not found: %s in %s at offset %zu\n", change_names[change], path, place);
    free(changed);
}

TEST(one_parenthesis_off_is_found_in_the_right_form)
{
    struct tally tallies[CHANGES] = {{0}};
    struct tally sum = {0};
    skip_without_sources();
    uint64_t random = random_seed();
    for (size_t i = 0; i < CHANGED_FILES; i++) {
        const char *path = files[next_random(&random) % file_count];
        char *text;
        size_t len;
        if (has_own_syntax(path))
            continue;
        if (!read_file(path, &text, &len))
            fail_msg("cannot read %s", path);
        for (enum change change = 0; change < CHANGES; change++)
            try_change(path, text, len, change, &random, &tallies[change]);
        free(text);
    }
    for (enum change change = 0; change < CHANGES; change++) {
        struct tally *tally = &tallies[change];
        print_message(
            "# %-8s %zu tried, %zu found, %zu in the right form; %zu guesses from the indentation, %zu of "
            "them on the very line\n",
            change_names[change], tally->tried, tally->found, tally->named, tally->guessed,
            tally->guessed_right);
        sum.tried += tally->tried;
        sum.found += tally->found;
        sum.named += tally->named;
    }
    assert_true(sum.tried > 0);
    assert_int_equal(sum.found, sum.tried);
    assert_true(sum.named * 100 >= sum.tried * 98);
}

int main(void)
{
    return run_cases(find_sources, forget_sources);
}
