/*
 * An intrusive doubly linked list. Invariant: a node that is in no list points at itself.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *previous;
};

static inline void list_init(struct list *l)
{
    l->next = l->previous = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

/* list_append(head, node): put ${node}, which is in no list, at the end. */
static inline void list_append(struct list *head, struct list *node)
{
    node->previous = head->previous;
    node->next = head;
    head->previous->next = node;
    head->previous = node;
}

/* list_remove(node): take it out of its list; harmless when it is in none. */
static inline void list_remove(struct list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_init(node);
}

/* list_count(head): how many nodes are in the list. */
static inline size_t list_count(const struct list *head)
{
    size_t n = 0;
    for (const struct list *node = head->next; node != head; node = node->next)
        n++;
    return n;
}

/* list_entry(node, type, member): the struct that holds the node. */
#define list_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* list_node(entry, type, member), list_after(entry, type, member): the node of ${entry}; the struct after it,
 * which is none after the last one. They only compute addresses, so that list_each() may compare the latter.
 */
#define list_node(entry, type, member) ((struct list *)(void *)((char *)(entry) + offsetof(type, member)))
#define list_after(entry, type, member) list_entry(list_node(entry, type, member)->next, type, member)

/* list_each(type, entry, head, member): visit each struct in a list, by its node ${member}; the body may take
 * ${entry} out of the list and free it. */
#define list_each(type, entry, head, member)                                                                 \
    for (type *entry = list_entry((head)->next, type, member),                                               \
              *next_##entry = list_after(entry, type, member);                                               \
         list_node(entry, type, member) != (head);                                                           \
         entry = next_##entry, next_##entry = list_after(entry, type, member))

#endif
