/* Gemm: what its files share. */
#ifndef ONSTAGE_KERNELS_GEMM_GEMM_H
#define ONSTAGE_KERNELS_GEMM_GEMM_H

#include "kernels/common/gemm/gemm.h"

enum { ALPHA, BETA, TRANSPOSE_A, TRANSPOSE_B };

static inline ons_gemm_form form_of(const ons_operands *o) {
    return (ons_gemm_form){.transpose_a = ons_attribute_int(o, TRANSPOSE_A) != 0,
                           .transpose_b = ons_attribute_int(o, TRANSPOSE_B) != 0,
                           .alpha = ons_attribute_float(o, ALPHA)};
}

/* Distance in C of neighbours along rows and along columns of the result; 0 where C repeats. */
typedef struct steps {
    int64_t row, column;
} steps;

static inline steps steps_of(const ons_shape *c) {
    int64_t rows = c->rank == 2 ? c->dims[0] : 1, columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
    return (steps){.row = rows > 1 ? columns : 0, .column = columns > 1 ? 1 : 0};
}

#endif
