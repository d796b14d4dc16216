/*
 * How well check-parens finds, locates and repairs damage: every file named is damaged in a hundred ways,
 * each time by one `)` removed, added or moved, anywhere or at the end of a top-level form, and the repair is
 * compared with the original.
 *
 *   parens SEED FILE...
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/regular_file.h"
#include "scan/scan_lexer.h"
#include "scan/scan_repair.h"

enum { DAMAGES = 100, MOST_FILE_BYTES = 1 << 20 };
enum damage_kind { REMOVED, ADDED, MOVED, SHORT_END, LONG_END, KINDS };

static const char *const kind_names[KINDS] = {"removed", "added", "moved", "removed at the end of a form",
                                              "added at the end of a form"};

struct figures {
    size_t damages, found, right_form, right_line, certain, right, wrong;
};

struct original {
    const char *text;
    size_t len;
    struct scan_token *tokens;
    size_t count;
    size_t *closes; /* which of the tokens are `)` */
    size_t close_count;
};

/* splitmix64 (public domain, Steele, Lea and Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void cut(struct original *original)
{
    struct scan_lexer lexer;
    lexer = scan_lexer_at(original->text, original->len, 0);
    original->tokens = xcalloc(original->len + 1, sizeof *original->tokens);
    original->closes = xcalloc(original->len + 1, sizeof *original->closes);
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END)
            return;
        if (token.kind == SCAN_TOKEN_CLOSE)
            original->closes[original->close_count++] = original->count;
        original->tokens[original->count++] = token;
    }
}

/* The same structure: the same tokens in the same order. The position of a `)` within a run does not
 * matter. */
static bool is_same_structure(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct scan_lexer one, other;
    one = scan_lexer_at(a, a_len, 0);
    other = scan_lexer_at(b, b_len, 0);
    for (;;) {
        struct scan_token x = scan_lexer_next(&one), y = scan_lexer_next(&other);
        if (x.kind != y.kind || x.end - x.start != y.end - y.start ||
            memcmp(a + x.start, b + y.start, x.end - x.start) != 0)
            return false;
        if (x.kind == SCAN_TOKEN_END)
            return true;
    }
}

static size_t line_of(const char *text, size_t offset)
{
    size_t line = 1;
    for (const char *at = text; (at = memchr(at, '\n', offset - (size_t)(at - text))) != NULL; at++)
        line++;
    return line;
}

/* The start of the top-level form around an offset of the original. */
static size_t form_of(const struct original *original, size_t offset)
{
    size_t depth = 0, start = 0;
    for (size_t i = 0; i < original->count && original->tokens[i].start < offset; i++) {
        if (depth == 0)
            start = original->tokens[i].start;
        depth += original->tokens[i].kind == SCAN_TOKEN_OPEN;
        depth -= original->tokens[i].kind == SCAN_TOKEN_CLOSE;
    }
    return start;
}

/* The `)` that ends the top-level form around an offset. */
static const struct scan_token *last_of_form(const struct original *original, size_t offset)
{
    const struct scan_token *token = original->tokens;
    for (size_t depth = 0;; token++) {
        depth += token->kind == SCAN_TOKEN_OPEN;
        depth -= token->kind == SCAN_TOKEN_CLOSE;
        if (depth == 0 && token->start >= offset)
            return token;
    }
}

static void damage_and_repair(const struct original *original, enum damage_kind kind, uint64_t *random,
                              struct figures *figures, bool is_verbose, const char *path)
{
    size_t lost = SIZE_MAX, put = SIZE_MAX; /* offsets in the original */
    const struct scan_token *close =
        &original->tokens[original->closes[next_random(random) % original->close_count]];
    if (kind == SHORT_END || kind == LONG_END)
        close = last_of_form(original, close->start);
    if (kind == REMOVED || kind == MOVED || kind == SHORT_END)
        lost = close->start;
    if (kind == ADDED || kind == MOVED)
        put = original->tokens[next_random(random) % original->count].end;
    if (kind == LONG_END)
        put = close->end;
    struct strbuf damaged, repaired;
    strbuf_init(&damaged, 0);
    strbuf_init(&repaired, 0);
    for (size_t i = 0; i <= original->len; i++) {
        if (i == put)
            strbuf_addc(&damaged, ')');
        if (i < original->len && i != lost)
            strbuf_addc(&damaged, original->text[i]);
    }
    if (is_same_structure(original->text, original->len, damaged.bytes, damaged.len))
        goto done; /* moved within a run */
    figures->damages++;
    struct scan_result result = scan_text(damaged.bytes, damaged.len);
    if (result.fault == SCAN_VALID && !scan_find_swallowed(damaged.bytes, damaged.len, &result))
        goto done;
    figures->found++;
    struct scan_repair repair;
    scan_find_repair(damaged.bytes, damaged.len, &repair, &repaired);
    /* No line breaks were damaged: lines are the same in both texts. */
    bool is_line = false, is_form = false;
    size_t lost_line = lost == SIZE_MAX ? 0 : line_of(original->text, lost);
    size_t put_line = put == SIZE_MAX ? 0 : line_of(original->text, put - 1);
    if (repair.edit_count > 0) {
        const struct scan_edit *edit = &repair.edits[0];
        size_t at = edit->at.offset;
        if (lost != SIZE_MAX && at > lost)
            at++;
        if (put != SIZE_MAX && at > put)
            at--;
        size_t form = form_of(original, at);
        is_line = (!edit->is_removal && edit->at.line == lost_line) ||
                  (edit->is_removal && edit->at.line == put_line);
        is_form = (!edit->is_removal && lost != SIZE_MAX && form == form_of(original, lost)) ||
                  (edit->is_removal && put != SIZE_MAX && form == form_of(original, put));
    }
    figures->right_form += is_form;
    figures->right_line += is_line;
    figures->certain += repair.is_certain;
    bool is_right = repair.is_certain &&
                    is_same_structure(original->text, original->len, strbuf_string(&repaired), repaired.len);
    figures->right += is_right;
    figures->wrong += repair.is_certain && !is_right;
    if (is_verbose && repair.is_certain && !is_right)
        printf("wrong: %s: %s lost %zu put %zu; %s at %zu:%zu\n", path, kind_names[kind], lost_line, put_line,
               repair.edits[0].is_removal ? "removed" : "added", repair.edits[0].at.line,
               repair.edits[0].at.column);
done:
    strbuf_fini(&damaged);
    strbuf_fini(&repaired);
}

static double percent(size_t part, size_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

int main(int argc, char **argv)
{
    struct figures figures[KINDS] = {{0}};
    size_t files = 0, alarms = 0, invalid = 0;
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    bool is_verbose = getenv("VERBOSE") != NULL;
    clock_t begun = clock();
    for (int i = 2; i < argc; i++) {
        struct regular_file file;
        struct scan_result result;
        struct original original = {0};
        if (regular_file_read(&file, argv[i], MOST_FILE_BYTES, NULL)) {
            original.text = strbuf_string(&file.text);
            original.len = file.text.len;
            bool is_valid = scan_text(original.text, original.len).fault == SCAN_VALID;
            bool is_alarm = is_valid && scan_find_swallowed(original.text, original.len, &result);
            if (is_alarm)
                printf("false alarm: %s:%zu\n", argv[i], result.form.start.line);
            cut(&original);
            alarms += is_alarm;
            invalid += !is_valid;
            if (is_valid && !is_alarm && original.close_count > 0) {
                files++;
                for (int n = 0; n < DAMAGES; n++)
                    damage_and_repair(&original, (enum damage_kind)(n % KINDS), &random, &figures[n % KINDS],
                                      is_verbose, argv[i]);
            }
            free(original.tokens);
            free(original.closes);
        }
        regular_file_fini(&file);
    }
    printf("%zu files; %zu not valid as they are, %zu false alarms; %.1f s\n", files, invalid, alarms,
           (double)(clock() - begun) / CLOCKS_PER_SEC);
    printf("| `)` | damages | found | right form | right line | repaired | right | wrong |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int k = 0; k < KINDS; k++) {
        const struct figures *f = &figures[k];
        printf("| %s | %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %zu (%.2f %%) |\n",
               kind_names[k], f->damages, percent(f->found, f->damages), percent(f->right_form, f->found),
               percent(f->right_line, f->found), percent(f->certain, f->found), percent(f->right, f->certain),
               f->wrong, percent(f->wrong, f->certain));
    }
    return 0;
}
