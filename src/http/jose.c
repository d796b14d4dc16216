/*
 * Responsible for parsing signed tokens and keys. GnuTLS computes.
 */
#include "http/jose.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/library.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"

/* What is used of the library: the member here and the name there. ${free} points to a variable. */
#define GNUTLS(row)                                                                                          \
    row(pubkey_init, gnutls_pubkey_init) row(pubkey_deinit, gnutls_pubkey_deinit)                            \
        row(import_rsa, gnutls_pubkey_import_rsa_raw) row(import_ecc, gnutls_pubkey_import_ecc_raw)          \
            row(verify, gnutls_pubkey_verify_data2) row(encode_rs, gnutls_encode_rs_value)                   \
                row(free, gnutls_free)

struct gnutls {
#define MEMBER(member, name) __typeof__(&name) member;
    GNUTLS(MEMBER)
#undef MEMBER
};

static const struct library_function functions[] = {
#define ROW(member, name) {#name, offsetof(struct gnutls, member)},
    GNUTLS(ROW){0}
#undef ROW
};

/* A kind of signature, and its names in tokens and keys (RFC 7518, RFC 8037). */
struct kind {
    const char *algorithm, *key_type, *curve; /* "alg", "kty", "crv" */
    const char *numbers[2];                   /* the members that make the key */
    unsigned least_bytes;                     /* of the first: 2,048 bits for RSA */
    size_t signature_bytes;                   /* 0: as many as the key's modulus */
    gnutls_sign_algorithm_t gnutls_algorithm;
    gnutls_ecc_curve_t gnutls_curve;
};

static const struct kind kinds[] = {
    {"RS256", "RSA", NULL, {"n", "e"}, 256, 0, GNUTLS_SIGN_RSA_SHA256, GNUTLS_ECC_CURVE_INVALID},
    {"ES256", "EC", "P-256", {"x", "y"}, 32, 64, GNUTLS_SIGN_ECDSA_SHA256, GNUTLS_ECC_CURVE_SECP256R1},
    {"EdDSA", "OKP", "Ed25519", {"x"}, 32, 64, GNUTLS_SIGN_EDDSA_ED25519, GNUTLS_ECC_CURVE_ED25519},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct key {
    const struct kind *kind;
    char *id; /* "kid", owned; NULL: none */
    gnutls_pubkey_t public;
};

struct jose_keys {
    void *library;
    struct gnutls gnutls;
    struct key keys[JOSE_MOST_KEYS];
    size_t count;
};

struct jose_keys *jose_keys_new(struct err *err)
{
    struct jose_keys *k = xcalloc(1, sizeof *k);
    if (library_load(&k->library, "libgnutls.so.30", "libgnutls30", functions, &k->gnutls, err))
        return k;
    free(k);
    return NULL;
}

static void drop_keys(struct jose_keys *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->keys[i].id);
        k->gnutls.pubkey_deinit(k->keys[i].public);
    }
    k->count = 0;
}

void jose_keys_free(struct jose_keys *k)
{
    if (k == NULL)
        return;
    drop_keys(k);
    library_unload(k->library);
    free(k);
}

static bool decode(struct strbuf *out, const char *text, size_t len)
{
    return text_add_base64(out, text, len, "-_");
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static bool may_be(const json_t *value, const char *text)
{
    return value == NULL || is_text(value, text);
}

/* A key without "key_ops" may be used for anything. */
static bool may_verify(const json_t *operations)
{
    size_t i;
    const json_t *one;
    bool may = operations == NULL;
    json_array_foreach(operations, i, one)
        may = may || is_text(one, "verify");
    return may;
}

static const struct kind *kind_of_key(const json_t *key)
{
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++)
        if (is_text(json_object_get(key, "kty"), kind->key_type) &&
            (kind->curve == NULL || is_text(json_object_get(key, "crv"), kind->curve)) &&
            may_be(json_object_get(key, "alg"), kind->algorithm) &&
            may_be(json_object_get(key, "use"), "sig") && may_verify(json_object_get(key, "key_ops")))
            return kind;
    return NULL;
}

static bool import(const struct gnutls *g, const json_t *json, const struct kind *kind,
                   gnutls_pubkey_t *public)
{
    struct strbuf bytes[2] = {{0}};
    gnutls_datum_t number[2];
    bool is_good = true;
    for (size_t i = 0; i < 2; i++) {
        const char *text =
            kind->numbers[i] == NULL ? "" : json_string_value(json_object_get(json, kind->numbers[i]));
        is_good = is_good && text != NULL && decode(&bytes[i], text, strlen(text));
        number[i] = (gnutls_datum_t){(unsigned char *)bytes[i].bytes, (unsigned)bytes[i].len};
    }
    /* Zeros before a modulus make it no longer; those before a coordinate belong to it. */
    size_t zeros = 0;
    while (kind->signature_bytes == 0 && zeros < bytes[0].len && bytes[0].bytes[zeros] == '\0')
        zeros++;
    is_good = is_good && bytes[0].len - zeros >= kind->least_bytes && g->pubkey_init(public) >= 0;
    if (is_good && (kind->curve == NULL ? g->import_rsa(*public, &number[0], &number[1])
                                        : g->import_ecc(*public, kind->gnutls_curve, &number[0],
                                                        kind->numbers[1] == NULL ? NULL : &number[1])) < 0) {
        g->pubkey_deinit(*public);
        is_good = false;
    }
    strbuf_fini(&bytes[0]);
    strbuf_fini(&bytes[1]);
    return is_good;
}

bool jose_keys_set(struct jose_keys *k, const char *text, size_t len, struct err *err)
{
    struct jose_keys made = {.gnutls = k->gnutls};
    json_t *set = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *json;
    size_t i;
    bool are_too_many = false;
    json_array_foreach(json_object_get(set, "keys"), i, json) {
        struct key key = {.kind = kind_of_key(json)};
        are_too_many = are_too_many || (key.kind != NULL && made.count == JOSE_MOST_KEYS);
        if (are_too_many || key.kind == NULL || !import(&k->gnutls, json, key.kind, &key.public))
            continue;
        key.id = xstrdup(json_string_value(json_object_get(json, "kid")));
        made.keys[made.count++] = key;
    }
    json_decref(set);
    if (are_too_many || made.count == 0) {
        drop_keys(&made);
        return are_too_many
                   ? err_set(err, ERR_INVALID, "it has more than %d keys for signatures", JOSE_MOST_KEYS)
                   : err_set(err, ERR_INVALID,
                             "it is no JWKS with a key for RS256, ES256 or EdDSA with Ed25519");
    }
    drop_keys(k);
    memcpy(k->keys, made.keys, sizeof k->keys);
    k->count = made.count;
    return true;
}

/* Other kinds of tokens of the same issuer are not for this server (RFC 8725, section 3.11). */
static bool is_type(const json_t *type)
{
    static const char *const types[] = {"JWT", "at+jwt", "application/at+jwt"};
    bool is_one = type == NULL;
    for (size_t i = 0; json_is_string(type) && i < sizeof types / sizeof types[0]; i++)
        is_one = is_one || strcasecmp(json_string_value(type), types[i]) == 0;
    return is_one;
}

/* An extension that the token declares critical is not known here. NULL: the token is not accepted. */
static const struct kind *kind_of_token(const json_t *header)
{
    const json_t *key_id = json_object_get(header, "kid");
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++)
        if (is_text(json_object_get(header, "alg"), kind->algorithm))
            return json_object_get(header, "crit") == NULL && is_type(json_object_get(header, "typ")) &&
                           (key_id == NULL || json_is_string(key_id))
                       ? kind
                       : NULL;
    return NULL;
}

static bool is_signed(const struct jose_keys *k, const struct kind *kind, const json_t *key_id,
                      gnutls_datum_t covered, struct strbuf *signature)
{
    unsigned char *bytes = (unsigned char *)signature->bytes;
    unsigned len = (unsigned)signature->len;
    bool is_pair = kind->gnutls_curve == GNUTLS_ECC_CURVE_SECP256R1, is_good = false;
    if (len == 0 || (kind->signature_bytes > 0 && len != kind->signature_bytes))
        return false;
    gnutls_datum_t given = {bytes, len}, r = {bytes, len / 2}, s = {bytes + len / 2, len / 2};
    if (is_pair && k->gnutls.encode_rs(&given, &r, &s) < 0)
        return false;
    for (const struct key *key = k->keys; key < k->keys + k->count && !is_good; key++)
        if (key->kind == kind && (key_id == NULL || (key->id != NULL && is_text(key_id, key->id))))
            is_good = k->gnutls.verify(key->public, kind->gnutls_algorithm, 0, &covered, &given) >= 0;
    if (is_pair)
        (*k->gnutls.free)(given.data);
    return is_good;
}

bool jose_verify(const struct jose_keys *k, const char *token, struct strbuf *payload)
{
    size_t header_len = strcspn(token, "."),
           payload_len = token[header_len] == '.' ? strcspn(token + header_len + 1, ".") : 0,
           covered_len = header_len + 1 + payload_len;
    if (token[header_len] == '\0' || token[covered_len] == '\0')
        return false;
    struct strbuf decoded = {0}, signature = {0};
    json_t *header = decode(&decoded, token, header_len)
                         ? json_loadb(strbuf_string(&decoded), decoded.len, JSON_REJECT_DUPLICATES, NULL)
                         : NULL;
    const struct kind *kind = kind_of_token(header);
    const char *last = token + covered_len + 1;
    bool is_good = kind != NULL && decode(&signature, last, strlen(last)) &&
                   is_signed(k, kind, json_object_get(header, "kid"),
                             (gnutls_datum_t){(unsigned char *)token, (unsigned)covered_len}, &signature) &&
                   decode(payload, token + header_len + 1, payload_len);
    json_decref(header);
    strbuf_fini(&decoded);
    strbuf_fini(&signature);
    return is_good;
}
