/* The middle of measured times: one that was held up by other work does not move it, as it would move a mean. */
#ifndef ONSTAGE_RUNTIME_MEASURE_MEDIAN_H
#define ONSTAGE_RUNTIME_MEASURE_MEDIAN_H

#include <stdint.h>

/* Measured times in ascending order. */
void ons_sort_seconds(double *values, int64_t count);

/* The median of at least one value; sorts them. */
double ons_median(double *values, int64_t count);

#endif
