/*
 * Chained buckets; their number doubles when there are more nodes than buckets.
 */
#include "base/hash_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"

#define FEWEST_BUCKETS 16

void hash_table_init(struct hash_table *t)
{
    *t = (struct hash_table){0};
}

void hash_table_fini(struct hash_table *t)
{
    free(t->buckets);
    hash_table_init(t);
}

static struct hash_node **bucket_of(const struct hash_table *t, uint64_t hash)
{
    return &t->buckets[hash & (t->bucket_count - 1)];
}

static void push(struct hash_table *t, struct hash_node *node)
{
    struct hash_node **bucket = bucket_of(t, node->hash);
    node->next = *bucket;
    *bucket = node;
}

static void grow(struct hash_table *t)
{
    struct hash_table old = *t;
    t->bucket_count = old.bucket_count == 0 ? FEWEST_BUCKETS : old.bucket_count * 2;
    t->buckets = xcalloc(t->bucket_count, sizeof(struct hash_node *));
    for (size_t i = 0; i < old.bucket_count; i++) {
        /* The chain is reversed before it is pushed, so that the youngest of equal hashes comes first again.
         */
        struct hash_node *turned = NULL;
        while (old.buckets[i] != NULL) {
            struct hash_node *node = old.buckets[i];
            old.buckets[i] = node->next;
            node->next = turned;
            turned = node;
        }
        while (turned != NULL) {
            struct hash_node *node = turned;
            turned = node->next;
            push(t, node);
        }
    }
    free(old.buckets);
}

void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash)
{
    if (t->count >= t->bucket_count)
        grow(t);
    node->hash = hash;
    push(t, node);
    t->count++;
}

void hash_table_remove(struct hash_table *t, struct hash_node *node)
{
    CHECK(t->bucket_count > 0);
    struct hash_node **at = bucket_of(t, node->hash);
    while (*at != node) {
        CHECK(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    node->next = NULL;
    t->count--;
}

static struct hash_node *of_hash(struct hash_node *node, uint64_t hash)
{
    while (node != NULL && node->hash != hash)
        node = node->next;
    return node;
}

struct hash_node *hash_table_first(const struct hash_table *t, uint64_t hash)
{
    return t->bucket_count == 0 ? NULL : of_hash(*bucket_of(t, hash), hash);
}

struct hash_node *hash_table_next(const struct hash_node *node)
{
    return of_hash(node->next, node->hash);
}

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014): every bit of the input reaches the low bits, which
 * choose the bucket. */
uint64_t hash_number(uint64_t number)
{
    number += 0x9E3779B97F4A7C15u;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

/* FNV-1a. */
uint64_t hash_bytes(const char *bytes, size_t len, uint64_t seed)
{
    uint64_t h = 14695981039346656037u ^ seed;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash_number(h);
}

uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}
