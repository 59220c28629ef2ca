/* From one element type to another, as data enters a model. */
#ifndef ONSTAGE_RUNTIME_DATA_CONVERT_H
#define ONSTAGE_RUNTIME_DATA_CONVERT_H

#include "graph/type.h"

/* Tests whether a conversion is possible: between floats; from integers and bool to floats, integers and bool. A float
 * never becomes an integer. */
bool ons_convert_possible(ons_dtype from, ons_dtype to);

/* `count` elements; both sides at any alignment, not overlapping. False where an integer did not fit (what is written
 * is then of no use) or the conversion is not possible. Allocates nothing. */
bool ons_convert(ons_dtype from, const void *source, ons_dtype to, void *destination, size_t count);

#endif
