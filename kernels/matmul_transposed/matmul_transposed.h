/* MatMulTransposed: what its files share. */
#ifndef ONSTAGE_KERNELS_MATMUL_TRANSPOSED_MATMUL_TRANSPOSED_H
#define ONSTAGE_KERNELS_MATMUL_TRANSPOSED_MATMUL_TRANSPOSED_H

#include "kernels/common/gemm/gemm.h"

enum { TRANSPOSE_A, TRANSPOSE_B, FOLD, ALPHA };

static inline ons_gemm_form form_of(const ons_operands *o) {
    return (ons_gemm_form){.transpose_a = ons_attribute_int(o, TRANSPOSE_A) != 0,
                           .transpose_b = ons_attribute_int(o, TRANSPOSE_B) != 0,
                           .fold = ons_attribute_int(o, FOLD) != 0,
                           .alpha = ons_attribute_float(o, ALPHA)};
}

#endif
