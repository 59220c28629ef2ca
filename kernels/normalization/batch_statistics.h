/* The vector code of batch normalisation: two sums per channel, and an affine map per channel, in ONNX's order or with
 * channels last.
 *
 * Sums are exact enough for long batches and the same bits on every run: runs of 64 rows in float lanes, these in
 * double, first in the order of the rows and then of the parts (one for each thread that the plan grants).
 *
 * With channels last and few channels, several rows are seen as one wide row of `width` = repeat × channels columns, so
 * that loops fill whole vectors; the `extra` elements behind the last wide row come last.
 */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_BATCH_STATISTICS_H
#define ONSTAGE_KERNELS_NORMALIZATION_BATCH_STATISTICS_H

#include "kernels/common/layout/channels.h"
#include "kernels/normalization/batch_activation.h"

typedef struct ons_batch_plan {
    ons_channels size;
    int parts;
    int64_t repeat, width, rows, extra; /* with channels last */
} ons_batch_plan;

/* For a tensor of this type; adds to p->scratch_bytes and refuses what does not fit. */
ons_status *ons_batch_plan_make(ons_prepare *p, const ons_type *type, ons_batch_plan *plan);

/* Per channel, laid out in a launch's scratch. */
typedef struct ons_batch_scratch {
    double *sums[2]; /* the results, one for each channel */
    double *partial; /* 2 × parts × width */
    float *scale, *shift, *rest, *factor;
    float *gate_scale, *gate_rest; /* all of width: repeated for wide rows */
} ons_batch_scratch;
ons_batch_scratch ons_batch_scratch_of(const ons_batch_plan *plan, void *scratch);

/* Copies the first `channels` of a vector into its repetitions. */
void ons_batch_repeat(const ons_batch_plan *plan, float *vector);

/* sums[0] = Σ (x − shift), sums[1] = Σ (x − shift)². */
void ons_batch_sum_squares(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *x);

/* sums[0] = Σ dy, sums[1] = Σ dy (x − shift). dy counts only where the activation lets the gradient through: by
 * (x − shift) × gate_scale + gate_rest, which is what the map forwards made. */
void ons_batch_sum_products(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                            ons_batch_activation activation);

/* Behind a plan's scratch: what ons_batch_shares_plan (batch_training.h) has added to it. */
double *ons_batch_shares_of(const ons_batch_plan *plan, void *scratch);

/* y is the activation of (x − shift) × scale + rest + residual (NULL: none; beside Clip there is none). y may be
 * residual. */
void ons_batch_normalize(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *x, const float *residual,
                         ons_batch_activation activation, float *y);

/* dx = dy × scale + (x − shift) × factor + rest; x NULL: dx = dy × scale. dx may be dy or x. dy is 0 where it
 * does not count for the sums. */
void ons_batch_differentiate(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                             ons_batch_activation activation, float *dx);

#endif
