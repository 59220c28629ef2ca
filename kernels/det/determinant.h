/* Determinants of small matrices, and what their derivatives are made of: plain elimination in double. */
#ifndef ONSTAGE_KERNELS_DET_DETERMINANT_H
#define ONSTAGE_KERNELS_DET_DETERMINANT_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"

/* Checks that input 0 is a float tensor of square matrices, and gives their number and size. */
ons_status *ons_square_matrices(const ons_operands *o, int64_t *count, int64_t *size);

ONS_HOST_DEVICE static inline void ons_swap_rows(double *a, int64_t n, int64_t i, int64_t k) {
    for (int64_t j = 0; j < n; ++j) {
        double x = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = x;
    }
}

/* The row from `column` on with the largest element in that column. */
ONS_HOST_DEVICE static inline int64_t ons_find_pivot(const double *a, int64_t n, int64_t column) {
    int64_t best = column;
    for (int64_t i = column + 1; i < n; ++i)
        if (fabs(a[i * n + column]) > fabs(a[best * n + column])) best = i;
    return best;
}

/* Of the n×n matrix `a`, which is overwritten. 1 where n is 0. */
ONS_HOST_DEVICE static inline double ons_determinant(double *a, int64_t n) {
    double determinant = 1;
    for (int64_t k = 0; k < n; ++k) {
        int64_t pivot = ons_find_pivot(a, n, k);
        if (pivot != k) {
            ons_swap_rows(a, n, pivot, k);
            determinant = -determinant;
        }
        determinant *= a[k * n + k];
        if (a[k * n + k] == 0) return 0;
        for (int64_t i = k + 1; i < n; ++i) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return determinant;
}

/* `inverse` from `a`, which is overwritten, by elimination above and below. False where a pivot is so small beside the
 * largest that digits are lost. */
ONS_HOST_DEVICE static inline bool ons_invert(double *a, int64_t n, double *inverse, double *determinant) {
    double largest = 0;
    *determinant = 1;
    for (int64_t i = 0; i < n * n; ++i) inverse[i] = i / n == i % n;
    for (int64_t k = 0; k < n; ++k) {
        int64_t pivot = ons_find_pivot(a, n, k);
        if (pivot != k) {
            ons_swap_rows(a, n, pivot, k);
            ons_swap_rows(inverse, n, pivot, k);
            *determinant = -*determinant;
        }
        double p = a[k * n + k];
        largest = fmax(largest, fabs(p));
        if (!(fabs(p) > 1e-6 * largest)) return false;
        *determinant *= p;
        for (int64_t j = 0; j < n; ++j) {
            a[k * n + j] /= p;
            inverse[k * n + j] /= p;
        }
        for (int64_t i = 0; i < n; ++i) {
            double factor = i == k ? 0 : a[i * n + k];
            for (int64_t j = 0; factor != 0 && j < n; ++j) {
                a[i * n + j] -= factor * a[k * n + j];
                inverse[i * n + j] -= factor * inverse[k * n + j];
            }
        }
    }
    return true;
}

/* The determinant without row and column, for matrices that have no inverse. */
ONS_HOST_DEVICE static inline double ons_cofactor_of(const double *a, int64_t n, int64_t row, int64_t column,
                                                     double *work) {
    int64_t to = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; i != row && j < n; ++j)
            if (j != column) work[to++] = a[i * n + j];
    double minor = ons_determinant(work, n - 1);
    return (row + column) % 2 == 0 ? minor : -minor;
}

/* cofactors[i][j] = ∂ det / ∂ a[i][j]. `work` has room for n×n numbers. */
ONS_HOST_DEVICE static inline void ons_cofactors(const double *a, int64_t n, double *cofactors, double *work) {
    double determinant;
    for (int64_t i = 0; i < n * n; ++i) work[i] = a[i];
    if (!ons_invert(work, n, cofactors, &determinant)) {
        for (int64_t i = 0; i < n * n; ++i) cofactors[i] = ons_cofactor_of(a, n, i / n, i % n, work);
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            double x = cofactors[i * n + j];
            cofactors[i * n + j] = determinant * cofactors[j * n + i];
            cofactors[j * n + i] = determinant * x;
        }
}

#endif
