/* Rows whose saved log Σ e^x lies far from 0.
 *
 * A forward pass saves max + log Σ e^(x - max) of a row as one float, from which the backward pass makes the row's
 * probabilities again: e^(x - saved). A float of great magnitude has no room for the second summand: where a finite
 * mask of -1e9 or -3.4e38 hides a whole row, what is saved is the mask, and each of the row's n equal probabilities
 * would become 1 in place of 1/n. The probabilities of such rows are divided by their sum. */
#ifndef ONSTAGE_KERNELS_COMMON_MATH_FAR_H
#define ONSTAGE_KERNELS_COMMON_MATH_FAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/host_device.h"

/* Below it a probability is off by 2^-17 of its size at most, which is what the exponential of a float loses there. */
#define ONS_FAR 256.0f

/* Not of infinities, by which rows are marked that nothing is seen of. */
ONS_HOST_DEVICE static inline bool ons_is_far(float log_sum) {
    float size = fabsf(log_sum);
    return size >= ONS_FAR && size <= 3.402823466e38f;
}

/* 1 ÷ Σ e^(x - log_sum) of `length` elements `step` apart; 1 where the row is not far. */
static inline float ons_far_share(const float *x, int64_t step, int64_t length, float log_sum) {
    if (!ons_is_far(log_sum)) return 1;
    float sum = 0;
    for (int64_t k = 0; k < length; ++k) sum += expf(x[k * step] - log_sum);
    return 1 / sum;
}

/* The same for references. */
static inline double ons_far_share_of_words(const double *x, int64_t step, int64_t length, double log_sum) {
    if (!ons_is_far((float)log_sum)) return 1;
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) sum += exp(x[k * step] - log_sum);
    return 1 / sum;
}

#endif
