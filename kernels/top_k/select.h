/* The k first of a line's elements in the order of value and index. An element's key is its value as a number that
 * sorts like it, above its index; so keys differ, and the smallest key comes first. */
#ifndef ONSTAGE_KERNELS_TOP_K_SELECT_H
#define ONSTAGE_KERNELS_TOP_K_SELECT_H

#include <stdbool.h>
#include <stdint.h>

/* Few are kept in order while the line is read; more than that are found by sorting the line. */
bool ons_select_inserts(int64_t length, int64_t k);

/* Words of scratch, in whole cache lines. */
int64_t ons_select_scratch(int64_t length, int64_t k);

/* Keys of the first k, in order, within `scratch`. Elements lie `stride` apart. */
const uint64_t *ons_select(const float *x, int64_t length, int64_t stride, int64_t k, bool largest, uint64_t *scratch);

#endif
