#include "runtime/measure/median.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void ons_sort_seconds(double *values, int64_t count) { qsort(values, (size_t)count, sizeof *values, by_value); }

double ons_median(double *values, int64_t count) {
    ons_sort_seconds(values, count);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
