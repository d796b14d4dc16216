/*
 * What is taken for a credential, and what is not.
 */
#include <string.h>

#include "../cases.h"
#include "base/redact.h"

static const struct {
    const char *text, *redacted; /* NULL: nothing is taken out */
} examples[] = {
    {"", NULL},
    {"(defun f (x) (* 2 x))", NULL},
    {"(setf *password* \"hunter2\")", "(setf *password* \"[redacted]\")"},
    {"(login :user \"me\" :password \"a \\\"b\\\" c\" :port 80)",
     "(login :user \"me\" :password \"[redacted]\" :port 80)"},
    {"DB-PASSWORD = \"x\"", "DB-PASSWORD = \"[redacted]\""},
    {"password \"never ended", "password \"[redacted]"},
    {"PGPASSWORD=correcthorse psql", "PGPASSWORD=[redacted] psql"},
    {"\"api_key\": \"0123\"", "\"api_key\": \"[redacted]\""},
    {"\"password\" = \"hunter2\"", "\"password\" = \"[redacted]\""},
    {"((:password . \"hunter2\") (:n . 1))", "((:password . \"[redacted]\") (:n . 1))"},
    {"password: hunter2\n", "password: [redacted]\n"},
    {"(list :token :foobar)", NULL},
    {"PATH=/opt/token:/usr/local/bin", NULL},
    {"api-key \"0123\"", "api-key \"[redacted]\""},
    {"Authorization: Bearer abc.def.ghi next", "Authorization: Bearer [redacted] next"},
    {"unexpected token: )", NULL},
    {"the next token is FOO", NULL},
    {"postgres://me:s3cret@db/x", "postgres://me:[redacted]@db/x"},
    {"http://localhost:8080/a@b", NULL},
    {"key sk-0123456789abcdef0123 end", "key [redacted] end"},
    {"disk-0123456789abcdef0123", NULL},
    {"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
    {"sk-short", NULL},
    {"-----BEGIN PRIVATE KEY-----\nAAAA\nBBBB\n-----END PRIVATE KEY-----\n",
     "-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----\n"},
    {"-----BEGIN CERTIFICATE-----\nAAAA\n", NULL},
    {"-----BEGIN RSA PRIVATE KEY-----\nAAAA", "-----BEGIN RSA PRIVATE KEY-----[redacted]"},
    {"AA/A\nBB+B\nC==\n-----END EC PRIVATE KEY-----\nx", "[redacted]-----END EC PRIVATE KEY-----\nx"},
    {"left out]\nAAAA\r\nBBBB\r\n-----END PRIVATE KEY-----",
     "left out]\n[redacted]-----END PRIVATE KEY-----"},
    {"AAAA\nBBBB\n-----END CERTIFICATE-----", NULL},
    {"AAAA\n\n-----END PRIVATE KEY-----", NULL},
    {"the AAAA\n-----END PRIVATE KEY-----", NULL},
};

TEST(credentials_are_taken_out_and_the_rest_stays)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct strbuf out;
        strbuf_init(&out, 0);
        redact(&out, examples[i].text, strlen(examples[i].text));
        assert_string_equal(strbuf_string(&out),
                            examples[i].redacted != NULL ? examples[i].redacted : examples[i].text);
        strbuf_fini(&out);
    }
}

#define LINE "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

TEST(marks_in_place_have_the_same_length)
{
    static const struct {
        const char *text, *redacted; /* NULL: nothing is taken out */
        bool is_cut;
    } in_place[] = {
        {"password=hunter2!", "password=[redact!", false},
        {"key sk-0123456789abcdef0123 end", "key [redacted]************* end", false},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\nBBBB\nCC==\n-----END PRIVATE KEY-----\n",
         "-----BEGIN PRIVATE KEY-----\n[red\nacte\nd]**\n-----END PRIVATE KEY-----\n", false},
        {LINE "\nAAAA", "[redacted]******************************************************\n****", true},
        {"\nAAAA\n" LINE, "\n[red\nacted]**********************************************************", true},
        {LINE "\nAAAA", NULL, false},
        {LINE "\nAAAA\n\nmore", NULL, true},
        {"done", NULL, true},
    };
    for (size_t i = 0; i < sizeof in_place / sizeof in_place[0]; i++) {
        char text[200];
        size_t len = strlen(in_place[i].text);
        memcpy(text, in_place[i].text, len + 1);
        redact_in_place(text, len, in_place[i].is_cut);
        assert_string_equal(text, in_place[i].redacted != NULL ? in_place[i].redacted : in_place[i].text);
        redact_in_place(text, len, in_place[i].is_cut);
        assert_string_equal(text, in_place[i].redacted != NULL ? in_place[i].redacted : in_place[i].text);
    }
}
