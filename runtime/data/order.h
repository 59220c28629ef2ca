/* The order of samples in an epoch, without keeping it: a keyed permutation that is computed for one position at a
 * time. So a resumed run needs nothing but epoch and position, and a dataset of any size is shuffled in no memory.
 *
 * A Feistel network over the smallest power of two ≥ n, its round function drawn from Philox; results outside [0, n)
 * are sent through again until they are inside ("cycle walking", Black and Rogaway, "Ciphers with arbitrary finite
 * domains", 2002).
 */
#ifndef ONSTAGE_RUNTIME_DATA_ORDER_H
#define ONSTAGE_RUNTIME_DATA_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ons_order {
    uint64_t count; /* samples, ≥ 1, ≤ 2^62 */
    uint64_t seed;
    bool shuffle; /* false: 0, 1, 2, … in every epoch */
} ons_order;

/* Lists the samples at positions [position, position + count) of the epoch; the end is ≤ order->count. */
void ons_order_rows(const ons_order *order, uint64_t epoch, uint64_t position, size_t count, uint64_t *rows);

#endif
