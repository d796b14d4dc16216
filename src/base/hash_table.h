/*
 * An intrusive hash table: each entry contains a node and knows its own key, so the table neither copies nor
 * compares keys. A look-up walks the nodes of one hash, and the caller compares keys. It grows as it fills
 * and never shrinks.
 */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hash_node {
    struct hash_node *next;
    uint64_t hash;
};

/* Invariants: bucket_count is 0 or a power of two; a node is in the chain of bucket hash % bucket_count. */
struct hash_table {
    struct hash_node **buckets;
    size_t bucket_count, count;
};

/* hash_table_init(t), hash_table_fini(t): on the caller's memory; the nodes are the caller's. */
void hash_table_init(struct hash_table *t);
void hash_table_fini(struct hash_table *t);

/* hash_table_add(t, node, hash): ${node} is in no table. hash_table_remove(t, node): it is in this one. */
void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash);
void hash_table_remove(struct hash_table *t, struct hash_node *node);

/* hash_table_first(t, hash), hash_table_next(node): walk the nodes of that hash, the youngest first; NULL at
 * the end. */
struct hash_node *hash_table_first(const struct hash_table *t, uint64_t hash);
struct hash_node *hash_table_next(const struct hash_node *node);

/* hash_bytes(bytes, len, seed), hash_text(text, seed), hash_number(number): spread keys well, but do not
 * protect against an attacker who knows the seed. */
uint64_t hash_bytes(const char *bytes, size_t len, uint64_t seed);
uint64_t hash_text(const char *text, uint64_t seed);
uint64_t hash_number(uint64_t number);

/* hash_table_entry(node, type, member): the struct that holds the node. */
#define hash_table_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#endif
