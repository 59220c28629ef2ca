/* MatMul: what its files share. */
#ifndef ONSTAGE_KERNELS_MATMUL_MATMUL_H
#define ONSTAGE_KERNELS_MATMUL_MATMUL_H

#include "kernels/common/gemm/gemm.h"

static const ons_gemm_form plain = {.alpha = 1};

#endif
