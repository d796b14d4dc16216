/*
 * The values of HTTP headers, the token file, networks, names of principals, and the log of events.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cases.h"
#include "base/strbuf.h"
#include "base/event_log.h"
#include "http/header_values.h"
#include "http/networks.h"
#include "http/principals.h"
#include "http/tokens.h"

TEST(media_types)
{
    assert_true(media_type_is("application/json", "application/json"));
    assert_true(media_type_is(" Application/JSON ; charset=utf-8", "application/json"));
    assert_false(media_type_is("application/json5", "application/json"));
    assert_false(media_type_is("application/json, text/plain", "application/json"));
    assert_false(media_type_is("", "application/json"));
    assert_false(media_type_is(";", "application/json"));
}

/* It holds for each of ${yes} and for none of ${no}; both end with NULL. */
static void assert_tells(bool (*holds)(const char *value), const char *const yes[], const char *const no[])
{
    for (size_t i = 0; yes[i] != NULL; i++)
        if (!holds(yes[i]))
            fail_msg("%s", yes[i]);
    for (size_t i = 0; no[i] != NULL; i++)
        if (holds(no[i]))
            fail_msg("%s", no[i]);
}

static bool admits_events(const char *value)
{
    return accept_admits(value, "text/event-stream");
}

TEST(accept_lists)
{
    static const char *const yes[] = {"text/event-stream",
                                      "*/*",
                                      "text/*",
                                      "application/json, TEXT/event-stream;q=0.1",
                                      "a,b,,text/*;q=1",
                                      "text/event-stream;q=0.05",
                                      NULL};
    static const char *const no[] = {"",
                                     ",",
                                     "text",
                                     "text/event-streams",
                                     "text/event-stream;q=0",
                                     "*/*;q=0.000",
                                     "application/*",
                                     "text/*/x",
                                     ";;;",
                                     "text /*",
                                     "*/json",
                                     NULL};
    assert_tells(admits_events, yes, no);
}

TEST(hosts_are_taken_apart)
{
    static const char *const no[] = {
        "",   " ",      ":",   ":80", "a b", "a:b",       "a:80:80", "a:123456",         "[::1",
        "[]", "[::1]x", "[x]", "::1", "a/b", "user@host", "a\x01",   "localhost.:80\t:1"};
    struct header_part host, port;

    assert_true(host_split("localhost:8080", &host, &port));
    assert_true(part_is(host, "LOCALHOST") && part_is(port, "8080"));
    assert_true(host_split(" 127.0.0.1 ", &host, &port));
    assert_true(part_is(host, "127.0.0.1") && port.len == 0);
    assert_true(host_split("[::1]:80", &host, &port));
    assert_true(part_is(host, "::1") && part_is(port, "80"));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (host_split(no[i], &host, &port))
            fail_msg("%s", no[i]);
}

static bool is_loopback(const char *value)
{
    struct header_part host, port;
    return host_split(value, &host, &port) && host_is_loopback(host);
}

TEST(hosts_of_this_machine)
{
    static const char *const yes[] = {"localhost", "LocalHost:1",         "127.0.0.1", "127.1.2.3:80",
                                      "[::1]",     "[0:0:0:0:0:0:0:1]:9", NULL};
    static const char *const no[] = {"localhost.evil.example",
                                     "localhost.",
                                     "127.0.0.1.evil.example",
                                     "127.1",
                                     "0x7f.1",
                                     "0.0.0.0",
                                     "10.0.0.1",
                                     "[::2]",
                                     "[::]",
                                     "2130706433",
                                     "evil",
                                     NULL};
    assert_tells(is_loopback, yes, no);
}

TEST(origins_of_this_machine)
{
    static const char *const yes[] = {"http://localhost", "https://127.0.0.1:8443", "HTTP://[::1]:3000",
                                      NULL};
    static const char *const no[] = {"null",
                                     "",
                                     "localhost",
                                     "http://",
                                     "http:// localhost",
                                     "ftp://localhost",
                                     "http://localhost@evil.example",
                                     "http://localhost.evil.example",
                                     "http://localhost/x",
                                     "file://",
                                     "http://evil.example:80",
                                     NULL};
    assert_tells(origin_is_loopback, yes, no);
}

TEST(bearer_tokens)
{
    assert_string_equal(bearer_token("Bearer abc"), "abc");
    assert_string_equal(bearer_token("bearer \t abc"), "abc");
    assert_string_equal(bearer_token("Bearer "), "");
    assert_null(bearer_token("Bearer"));
    assert_null(bearer_token("Bearerabc"));
    assert_null(bearer_token("Basic abc"));
    assert_null(bearer_token(""));
}

TEST(event_ids)
{
    static const char *const no[] = {"",     "-",    "1",    "1-",   "-1",  "1-2-3",
                                     "1-2 ", " 1-2", "+1-2", "1--2", "a-1", "1-a"};
    uint64_t stream, sequence;
    assert_true(event_id_parse("0-0", &stream, &sequence));
    assert_true(stream == 0 && sequence == 0);
    assert_true(event_id_parse("123456789012345678-17", &stream, &sequence));
    assert_true(stream == 123456789012345678u && sequence == 17);
    assert_false(event_id_parse("1234567890123456789-1", &stream, &sequence));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (event_id_parse(no[i], &stream, &sequence))
            fail_msg("%s", no[i]);
}

#define SECRET_A "0123456789abcdef"
#define SECRET_B "fedcba9876543210"

TEST(token_files_are_taken_apart)
{
    static const char text[] = "# who\n\nada:" SECRET_A "\r\n" SECRET_B "\nada:AAAAAAAAAAAAAAAA~+/=  ";
    struct tokens t;
    struct err err;
    assert_true(tokens_parse(&t, text, sizeof text - 1, &err));
    assert_int_equal(t.count, 3);
    assert_string_equal(tokens_find(&t, SECRET_A)->name, "ada");
    assert_string_equal(tokens_find(&t, SECRET_B)->name, "default");
    assert_string_equal(tokens_find(&t, "AAAAAAAAAAAAAAAA~+/=")->name, "ada");
    assert_null(tokens_find(&t, "0123456789abcde"));
    assert_null(tokens_find(&t, SECRET_A "0"));
    assert_null(tokens_find(&t, ""));
    assert_null(tokens_find(&t, "fedcba9876543211"));
    tokens_fini(&t);
}

TEST(token_files_that_are_wrong)
{
    static const char *const no[] = {"",
                                     "# nothing\n",
                                     "short",
                                     ":" SECRET_A,
                                     "a b:" SECRET_A,
                                     ".x:" SECRET_A,
                                     "../x:" SECRET_A,
                                     "x:" SECRET_A " y",
                                     "x:" SECRET_A ":y",
                                     "a:" SECRET_A "\nb:" SECRET_A,
                                     " " SECRET_A,
                                     "x:0123456789abcde\x01"};
    char large[400];
    struct tokens t;
    struct err err;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (tokens_parse(&t, no[i], strlen(no[i]), &err))
            fail_msg("%s", no[i]);
        assert_null(strstr(err.message, "0123456789"));
        assert_null(t.items);
    }
    assert_false(tokens_parse(&t, "0123456789\0abcdef", 17, &err));
    memset(large, 'a', sizeof large);
    assert_true(tokens_parse(&t, large, TOKEN_MOST_BYTES - 1, &err));
    tokens_fini(&t);
    assert_false(tokens_parse(&t, large, TOKEN_MOST_BYTES, &err));
}

TEST(a_token_file_is_its_owners_alone)
{
    char path[] = "/tmp/cl-mcp-test-tokens-XXXXXX";
    int fd = mkstemp(path);
    struct tokens t;
    struct err err;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, SECRET_A "\n", 17), 17);
    close(fd);
    assert_true(tokens_read(&t, path, &err));
    tokens_fini(&t);
    assert_int_equal(chmod(path, 0640), 0);
    assert_false(tokens_read(&t, path, &err));
    assert_non_null(strstr(err.message, "chmod 600"));
    assert_int_equal(chmod(path, 0602), 0);
    assert_false(tokens_read(&t, path, &err));
    unlink(path);
    assert_false(tokens_read(&t, path, &err));
    assert_false(tokens_read(&t, "/tmp", &err));
    assert_false(tokens_read(&t, "/dev/null", &err));
}

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *ipv4 = (void *)&address;
    struct sockaddr_in6 *ipv6 = (void *)&address;
    if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        address.ss_family = AF_UNIX;
    return address;
}

TEST(networks_have_addresses)
{
    static const struct {
        const char *network, *address;
        bool has;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.0/8", "10.255.0.2", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.9/29", "10.0.0.15", true},
        {"10.0.0.8/29", "10.0.0.16", false},
        {"10.0.0.8/29", "10.0.0.7", false},
        {"0.0.0.0/0", "192.0.2.1", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"10.0.0.0/8", "::ffff:10.1.2.3", true},
        {"::ffff:10.0.0.0/104", "10.1.2.3", true},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"::1", "::1", true},
        {"::1", "127.0.0.1", false},
        {"::/0", "10.0.0.1", true},
        {"::/0", "a socket", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_storage address = address_of(rows[i].address);
        struct network n;
        struct err err;
        assert_true(network_parse(&n, rows[i].network, &err));
        if (network_has(&n, (struct sockaddr *)&address) != rows[i].has)
            fail_msg("%s, %s", rows[i].network, rows[i].address);
    }
}

TEST(text_that_is_no_network_is_refused)
{
    static const char *const no[] = {"",
                                     "/",
                                     "/8",
                                     "10.0.0.0/",
                                     "10.0.0.0/33",
                                     "10.0.0.0/-1",
                                     "10.0.0.0/+8",
                                     "10.0.0.0/8 ",
                                     "10.0.0/8",
                                     "::1/129",
                                     "localhost",
                                     "10.0.0.0/8/8",
                                     "[::1]",
                                     "fe80::1%lo",
                                     "10.0.0.0/0008",
                                     "::/1e1"};
    char longer[400];
    struct network n;
    struct err err;

    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (network_parse(&n, no[i], &err))
            fail_msg("%s", no[i]);
    memset(longer, '1', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_false(network_parse(&n, longer, &err));
}

TEST(some_networks_have_this_machine)
{
    static const struct {
        const char *network;
        bool has;
    } rows[] = {{"127.0.0.1", true}, {"127.9.9.9", true},  {"0.0.0.0/0", true},
                {"::/0", true},      {"192.0.2.1", false}, {"126.0.0.0/8", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct network n;
        struct err err;
        assert_true(network_parse(&n, rows[i].network, &err));
        if (network_has_this_machine(&n) != rows[i].has)
            fail_msg("%s", rows[i].network);
    }
}

TEST(users_have_names_that_folders_can_have)
{
    static const char *const rows[][2] = {
        {"ada", "ada"},
        {"Ada.L-1_2+x@example.org", "Ada.L-1_2+x@example.org"},
        {"..", "%2E."},
        {".hidden", "%2Ehidden"},
        {"a/b", "a%2Fb"},
        {"auth0|7", "auth0%7C7"},
        {"%2E", "%252E"},
        {"\xc3\xa4", "%C3%A4"},
        {"a b\t\x7f", "a%20b%09%7F"},
    };
    char name[PRINCIPAL_MOST_NAME + 1], user[PRINCIPAL_MOST_NAME + 2];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(principal_name(rows[i][0], name));
        assert_string_equal(name, rows[i][1]);
    }
    assert_false(principal_name("", name));
    memset(user, 'a', sizeof user);
    user[PRINCIPAL_MOST_NAME + 1] = '\0';
    assert_false(principal_name(user, name));
    user[PRINCIPAL_MOST_NAME] = '\0';
    assert_true(principal_name(user, name));
    user[PRINCIPAL_MOST_NAME - 1] = '/';
    assert_false(principal_name(user, name));
}

static bool add_sequence(void *arg, uint64_t sequence, const char *bytes, size_t len)
{
    strbuf_addf(arg, "%d:%.*s ", (int)sequence, (int)len, bytes);
    return bytes[0] != 's'; /* stop */
}

TEST(events_are_kept_and_forgotten)
{
    struct event_log log;
    struct strbuf out;
    strbuf_init(&out, 0);
    event_log_init(&log, 3, 10);
    event_log_add(&log, 1, 1, "a", 1);
    event_log_add(&log, 2, 1, "b", 1);
    event_log_add(&log, 1, 2, "c", 1);
    event_log_replay(&log, 1, 0, add_sequence, &out);
    assert_string_equal(strbuf_string(&out), "1:a 2:c ");
    strbuf_clear(&out);
    event_log_replay(&log, 1, 1, add_sequence, &out);
    assert_string_equal(strbuf_string(&out), "2:c ");
    event_log_add(&log, 1, 3, "d", 1);
    assert_int_equal(log.count, 3);
    strbuf_clear(&out);
    event_log_replay(&log, 1, 0, add_sequence, &out);
    assert_string_equal(strbuf_string(&out), "2:c 3:d ");
    strbuf_clear(&out);
    event_log_replay(&log, 1, 3, add_sequence, &out);
    assert_string_equal(strbuf_string(&out), "");
    event_log_add(&log, 2, 2, "stop", 4);
    event_log_add(&log, 2, 3, "e", 1);
    event_log_replay(&log, 2, 0, add_sequence, &out);
    assert_string_equal(strbuf_string(&out), "2:stop ");
    event_log_add(&log, 1, 4, "0123456789012345", 16);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.bytes, 16);
    event_log_fini(&log);
    assert_int_equal(log.bytes, 0);
    strbuf_fini(&out);
}

TEST(header_names_are_tokens)
{
    static const char *const yes[] = {"Host", "content-length", "X-1", "!#$%&'*+-.^_`|~", NULL};
    static const char *const no[] = {"",      " Host", "Host ",     "Ho st", "Host\t", "Host:", "H\x01",
                                     "H\x7f", "H(a)",  "H\xc3\xa4", "a/b",   "\"a\"",  NULL};
    assert_tells(header_name_is_valid, yes, no);
}

TEST(header_values_have_no_control_characters)
{
    static const char *const yes[] = {"", "a b", "a\tb", "\xc3\xa4", "~", NULL};
    static const char *const no[] = {"a\rb", "a\nb", "\x01", "a\x1f", "a\x7f", "\x1b[0m", NULL};
    assert_tells(header_value_is_valid, yes, no);
}

TEST(a_secret_is_compared_whole)
{
    static const char *const wrong[] = {"", "1", "123", "21", "12 ", "a12"};
    assert_true(secret_is("12", 2, "12"));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(secret_is(wrong[i], strlen(wrong[i]), "12"));
}
