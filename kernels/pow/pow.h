/* Pow: what its files share. */
#ifndef ONSTAGE_KERNELS_POW_POW_H
#define ONSTAGE_KERNELS_POW_POW_H

#include "graph/evaluate.h"
#include "kernels/common/operator/kernel.h"

static inline double word_as_double(ons_dtype dtype, const void *words, int64_t index) {
    if (ons_dtype_is_float(dtype)) return ((const double *)words)[index];
    return dtype == ONS_UINT64 ? (double)((const uint64_t *)words)[index] : (double)((const int64_t *)words)[index];
}

/* Whether the exponent is one number known beforehand. */
static inline bool constant_exponent(const ons_operands *o, double *exponent) {
    if (o->constants[1].data == NULL || ons_elements(&o->inputs[1]) != 1) return false;
    uint64_t word;
    ons_widen(o->inputs[1].dtype, o->constants[1].data, 1, &word);
    *exponent = word_as_double(o->inputs[1].dtype, &word, 0);
    return true;
}

#endif
