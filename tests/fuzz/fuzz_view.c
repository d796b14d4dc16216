/*
 * Any bytes as the head of a browser's request to the view. Invariants: what is found lies within the head,
 * and what is passed on to a server is whole lines, none of which ends the head.
 */
#include "fuzz.h"
#include "base/memory.h"
#include "view/read_only.h"
#include "view/request_head.h"

static void check_inside(const char *text, const struct request_head *head, const char *found)
{
    CHECK(found == NULL || (found >= text && found + strlen(found) <= text + head->len));
}

FUZZ(text, size)
{
    struct request_head head;
    char *copy = xmemdup0(text, size);
    if (request_head_parse(&head, copy, size) == REQUEST_HEAD_WHOLE) {
        CHECK(head.len >= 4 && head.len <= size && head.len <= REQUEST_HEAD_MOST);
        CHECK(head.target[0] == '/' && head.host != NULL && head.body_len <= 999999999);
        check_inside(copy, &head, head.target);
        check_inside(copy, &head, head.host);
        check_inside(copy, &head, head.origin);
        check_inside(copy, &head, head.cookie);
        const char *lines = strbuf_string(&head.passed_on);
        CHECK(strstr(lines, "\r\n\r\n") == NULL && lines[0] != '\r');
        CHECK(head.passed_on.len == 0 || strcmp(lines + head.passed_on.len - 2, "\r\n") == 0);
        CHECK(!request_head_cookie(head.cookie, "a", "0123456789abcdef0123456789abcdef") ||
              head.cookie != NULL);
    }
    request_head_fini(&head);
    free(copy);
    read_only_allows(text, size);
}
