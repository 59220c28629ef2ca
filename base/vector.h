/* A growing array: ONS_VECTOR(type) is {items, count, capacity} on the heap.
 *
 * Used where a count is not known beforehand. The owner calls ons_vector_free on every path; things that live as long
 * as a model are copied into its arena when they have stopped growing.
 */
#ifndef ONSTAGE_BASE_VECTOR_H
#define ONSTAGE_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ONS_VECTOR(type)                                                                                               \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t count;                                                                                                  \
        size_t capacity;                                                                                               \
    }

static inline bool ons_vector_grow(void **items, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) return true;
    size_t larger = *capacity < 8 ? 8 : *capacity * 2;
    larger = larger < needed ? needed : larger;
    size_t bytes;
    if (__builtin_mul_overflow(larger, size, &bytes)) return false;
    void *moved = realloc(*items, bytes);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = larger;
    return true;
}

/* Room for `extra` more; false when memory is short. */
#define ons_vector_reserve(vector, extra)                                                                              \
    ons_vector_grow((void **)&(vector)->items, &(vector)->capacity, (vector)->count + (extra), sizeof *(vector)->items)

/* Appends one element; false when memory is short. */
#define ons_vector_push(vector, ...)                                                                                   \
    (ons_vector_reserve((vector), 1) && ((vector)->items[(vector)->count++] = (__VA_ARGS__), true))

#define ons_vector_free(vector)                                                                                        \
    (free((vector)->items), (vector)->items = NULL, (vector)->count = (vector)->capacity = 0)

/* Appends, and leaves the function with an out-of-memory failure. */
#define ONS_PUSH(vector, ...)                                                                                          \
    do {                                                                                                               \
        if (!ons_vector_push((vector), __VA_ARGS__)) return ons_status_out_of_memory();                                \
    } while (0)

#endif
