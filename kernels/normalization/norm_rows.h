/* The float32 kernels of LayerNormalization and RMSNormalization, which is the same with a mean of 0. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_NORM_ROWS_H
#define ONSTAGE_KERNELS_NORMALIZATION_NORM_ROWS_H

#include "kernels/normalization/layer_norm.h"

/* y = (x - mean) × inverse × scale + bias for every row. `centered` false: the mean is 0. bias, means and inverses may
 * be NULL; y may be x. */
void ons_normalize_rows(const ons_layer_norm *norm, float epsilon, bool centered, const float *x, const float *scale,
                        const float *bias, float *y, float *means, float *inverses);

/* means NULL: all 0. Results that nobody wants are NULL. dx may take the place of dy, x, or what is added to either. */
typedef struct ons_norm_gradient {
    const float *dy, *x, *scale, *means, *inverses;
    float *dx, *dscale, *dbias;
} ons_norm_gradient;

/* `extra`: see ons_norm_gradient_check. */
ons_status *ons_norm_gradient_prepare(ons_prepare *p, const ons_layer_norm *norm, uint32_t extra);
void ons_norm_gradient_run(const ons_launch *launch, const ons_norm_gradient *g);

#endif
