/*
 * Any bytes as the description of a saved session; and as the journal and the other members of one that is
 * otherwise ours, with an image that fits it. Invariants: what is accepted names an image in the directory,
 * the journal stays within its bounds, and each of its parts can be used.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "session/records/journal.h"
#include "session/store/saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The hash of an empty image, as saved.c computes it. */
#define OURS                                                                                                 \
    "{\"format\":\"cl-mcp-server session 1\",\"name\":\"x\",\"image\":\"x-1-2-3.core\",\"size\":0,"          \
    "\"hash\":\"cbf29ce484222325\",\"lisp\":\"SBCL 2\",\"package\":\"P\",\"when\":\"W\","

static char directory[64];

static void remove_directory(void)
{
    static const char *const files[] = {"x.json", "x-1-2-3.core", "x.lost"};
    char path[128];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
}

static void write_file(const char *name, const char *bytes, size_t len)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len);
    CHECK(fclose(file) == 0);
}

static void make_directory(void)
{
    /* A file system in memory, where there is one: each input becomes a file. */
    snprintf(directory, sizeof directory, "%s/fuzz-saved-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(directory) != NULL);
    atexit(remove_directory);
    write_file("x-1-2-3.core", "", 0);
}

static void check_journal(struct journal *journal)
{
    CHECK(journal->count <= JOURNAL_ENTRIES && (journal->bytes <= JOURNAL_BYTES || journal->count == 1));
    journal_settle(journal, journal->count);
    for (size_t i = 0; i < journal->count; i++) {
        const struct journal_entry *e = journal_at(journal, i);
        CHECK(e->package != NULL && e->code[e->code_len] == '\0');
        CHECK(journal_find(journal, e->evaluation) != NULL);
        for (size_t k = 0; k < e->piece_count; k++) {
            const struct journal_piece *p = &e->pieces[k];
            const struct journal_entry *of = journal_find(journal, p->evaluation);
            size_t len = 0;
            const char *code = of == NULL ? NULL : journal_code_between(of, p->start, p->end, &len);
            CHECK(of == NULL || (code >= of->code && len <= (size_t)(of->code + of->code_len - code)));
            CHECK(p->package != NULL && p->depth >= 0);
        }
    }
}

/* Whether it was accepted. */
static bool check(struct saved_store *store)
{
    struct saved s;
    struct journal journal = {0};
    struct err err;
    bool is_found = saved_find(store, "x", "", &s, &journal, &err);
    CHECK(is_found || (journal.count == 0 && err.code != ERR_NONE));
    if (is_found) {
        CHECK(strncmp(s.image, directory, strlen(directory)) == 0);
        CHECK(s.image[strlen(directory)] == '/' && strchr(s.image + strlen(directory) + 1, '/') == NULL);
        CHECK(s.package != NULL && s.lisp != NULL);
        check_journal(&journal);
        saved_fini(&s);
    }
    journal_fini(&journal);
    return is_found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (directory[0] == '\0')
        make_directory();
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    struct saved_store *store = saved_store_new(directory, strlen(directory), &loop);
    struct strbuf text;
    strbuf_init(&text, 0);
    write_file("x.json", (const char *)data, size);
    check(store);
    strbuf_adds(&text, OURS "\"journal\":");
    strbuf_add(&text, (const char *)data, size);
    strbuf_addc(&text, '}');
    write_file("x.json", text.bytes, text.len);
    check(store);
    write_file("x.json", OURS "\"journal\":[]}", strlen(OURS "\"journal\":[]}"));
    CHECK(check(store)); /* the frame of the one before is valid */
    strbuf_clear(&text);
    write_file("x.lost", (const char *)data, size);
    saved_take_loss(store, "x", &text);
    strbuf_fini(&text);
    saved_store_free(store);
    CHECK(uv_loop_close(&loop) == 0);
    return 0;
}
