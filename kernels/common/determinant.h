/* Determinants of small matrices, and what their derivatives are made of: plain elimination in double. */
#ifndef ONSTAGE_KERNELS_COMMON_DETERMINANT_H
#define ONSTAGE_KERNELS_COMMON_DETERMINANT_H

#include "kernels/common/kernel.h"

/* Checks that input 0 is a float tensor of square matrices, and gives their number and size. */
ons_status *ons_square_matrices(const ons_operands *o, int64_t *count, int64_t *size);

/* Of the n×n matrix `a`, which is overwritten. 1 where n is 0. */
double ons_determinant(double *a, int64_t n);

/* cofactors[i][j] = ∂ det / ∂ a[i][j]. `work` has room for n×n numbers. */
void ons_cofactors(const double *a, int64_t n, double *cofactors, double *work);

#endif
