/* LinearWeightGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_LINEAR_LINEAR_WEIGHT_GRADIENT_H
#define ONSTAGE_KERNELS_LINEAR_LINEAR_WEIGHT_GRADIENT_H

#include "kernels/common/gemm/gemm.h"

enum { SUMMED };

static const ons_gemm_form form = {.transpose_a = true, .fold = true, .alpha = 1};

#endif
