/*
 * Access tokens: the text of a token, of a file of keys, and of what a token claims; the first byte says
 * which. Invariants: nothing crashes; no token verifies except those in the seeds, whose private keys nobody
 * has any more, and they say what they said when they were signed; an accepted claim names a user.
 */
#include "fuzz.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "http/access_tokens.h"
#include "http/jose.h"

static const char public_keys[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"tIh7Tau--YG-1cKMuiv44N2D-yA1zR7uH0g8N02k9ddrXeziwLBaZyXiytLOBKM"
    "NA4luA9sJ18yZB_96N0R0mzt0Anvqe5I4_wJetaNseBtQCqHUxiQyp2Ptjox-QsRJC8aNfjlzmlKDns5BYQn2Dw_lC"
    "WMs_QmkwAyfxpIw5JA-IC72EvAcmes8iJxewnrZGfQwKTZGosLr7RRbyyTZ7g4V3hOgZKlsITDmO1qnyaHmuTp43uO"
    "LAbIo3PWcQXDF1UgrywUUyCARbhl7wAMGMXqeyREhzPxCUP8yQZQjY70FgxNlMY2rNaOlNUKgwA5HQFAcH-WLoaiOq"
    "hK3IGdLjQ\",\"e\":\"AQAB\",\"kid\":\"R\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
    "\"iznlnJ1Lgo5IrjjkzgWldCcrJ2"
    "cnyoUfImTdmFxlnCk\",\"y\":\"rKjyvJSv0W2yE5bjh-szVGby8JxhUUE4rSmf9DETqck\",\"kid\":\"E\"},{\"kty\":\"OK"
    "P\",\"crv\":\"Ed25519\",\"x\":\"U-54zKPegcSSArXSEJF_7VTKWTVd1nR-85AnhtF2G3w\",\"kid\":\"E\"}]}";
static const char signed_payload[] =
    "{\"iss\":\"https://i\",\"aud\":[\"https://a\"],\"exp\":99999999999,\"nbf\":0,\"iat\":0,\"sub\":\"ada\"}";

static const struct access_tokens_options options = {
    .issuer = "https://i", .audience = "https://a", .user = "sub"};

static void check_token(const struct jose_keys *keys, const char *text)
{
    struct strbuf payload = {0};
    if (jose_verify(keys, text, &payload))
        CHECK(strcmp(strbuf_string(&payload), signed_payload) == 0);
    strbuf_fini(&payload);
}

static void check_keys(const char *text, size_t len)
{
    struct err err;
    struct jose_keys *keys = jose_keys_new(&err);
    CHECK(keys != NULL);
    if (!jose_keys_set(keys, text, len, &err))
        CHECK(err.code == ERR_INVALID);
    jose_keys_free(keys);
}

static void check_claims(const char *text, size_t len)
{
    char *user = NULL;
    const char *why = NULL;
    if (access_tokens_claim(&options, text, len, 1000000000, &user, &why))
        CHECK(user != NULL && why == NULL);
    else
        CHECK(user == NULL && why != NULL);
    free(user);
}

FUZZ(bytes, size)
{
    static struct jose_keys *keys;
    struct err err;
    if (keys == NULL) {
        keys = jose_keys_new(&err);
        CHECK(keys != NULL && jose_keys_set(keys, public_keys, sizeof public_keys - 1, &err));
    }
    if (size == 0)
        return;
    char *text = xmemdup0(bytes + 1, size - 1);
    if (bytes[0] == 'k')
        check_keys(bytes + 1, size - 1);
    else if (bytes[0] == 'c')
        check_claims(bytes + 1, size - 1);
    else
        check_token(keys, text);
    free(text);
}
