/* Normalisations of the last axis that are made of nodes: what the SkipLayerNormalizations and their like share. */
#ifndef ONSTAGE_KERNELS_MICROSOFT_EXPANDED_NORM_H
#define ONSTAGE_KERNELS_MICROSOFT_EXPANDED_NORM_H

#include "kernels/common/operator/expand.h"

/* Rows of `columns` in double: (x - mean) / √(variance + epsilon) × scale + bias; `centred` false: mean is 0. */
typedef struct ons_norm_rows {
    int64_t rows, columns;
    double epsilon;
    bool centred;
    const double *scale, *bias; /* bias NULL: none */
} ons_norm_rows;
/* `inverses` NULL: not wanted. */
void ons_norm_reference(const ons_norm_rows *norm, const double *x, double *y, double *inverses);

/* For inference: input `index`, where it is there, is a vector of `size` of input 0's element type. */
ons_status *ons_need_vector(const ons_operands *o, uint32_t index, int64_t size, const char *what);

/* ---- the two SkipLayerNormalizations: inputs from 0: x, skip; a bias at `bias` may be left out. */
ons_status *ons_skip_infer(ons_operands *o, uint32_t bias);
/* x + skip + bias: of its own element in words, and as nodes. */
double ons_skip_element(const ons_operands *o, const void *const *inputs, uint32_t bias, int64_t i);
ons_value_id ons_skip_sum(ons_replacement *m, uint32_t bias);
/* The sum is output 3; outputs 1 and 2 are refused where something reads them. */
ons_status *ons_skip_finish(ons_replacement *m, ons_value_id result, ons_value_id sum);

#endif
