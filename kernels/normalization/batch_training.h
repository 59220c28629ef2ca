/* Batch normalisation with the statistics of the batch: shared by ONNX's operator in its training form and by the
 * operator that training puts in its place. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_BATCH_TRAINING_H
#define ONSTAGE_KERNELS_NORMALIZATION_BATCH_TRAINING_H

#include "kernels/normalization/batch_statistics.h"

typedef struct ons_batch_training {
    ons_batch_plan plan;
    double epsilon, momentum;
    bool training;      /* of ONNX's operator: its form */
    bool unbiased;      /* the running variance is that of n − 1 */
    uint32_t replicas;  /* whose micro-batches have their statistics together; 1: this one's alone */
    bool added, sloped; /* of the operator that training puts in ONNX's place: what it does to the result */
    ons_batch_activation activation;
} ons_batch_training;

/* What replicas tell each other of their micro-batches (ons_replicas): the number of values by channel, then two
 * numbers for each channel. */
static inline int64_t ons_batch_share_size(int64_t channels) { return 1 + 2 * channels; }
/* Adds to p->scratch_bytes the shares of so many replicas; one has nothing to tell, and no share. */
ons_status *ons_batch_shares_plan(ons_prepare *p, int64_t channels, int64_t replicas, uint32_t *most);

/* By channel, NULL where nobody reads it; and what is done to the result on the way. */
typedef struct ons_batch_results {
    float *mean, *variance; /* the running ones, renewed */
    float *saved_mean, *saved_inverse, *saved_slope;
    const float *residual; /* is added; NULL: nothing */
    ons_batch_activation activation;
} ons_batch_results;

/* The operands' shapes: x of rank ≥ 2, the other inputs vectors of its channels. Sets every output: y, then vectors. */
ons_status *ons_batch_infer(ons_operands *o);

ons_status *ons_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased,
                                       int64_t replicas);
void ons_batch_training_run(const ons_launch *launch, const ons_batch_results *results);

/* Training's normalisation in double, for references: inputs x, scale, bias, running mean, running variance as words.
 * `made`: y, and by channel the running mean and variance, the mean, inverse and slope that are saved; NULL: nobody
 * asks. */
enum { ONS_BATCH_MADE = 6 };
void ons_batch_training_reference(const ons_operands *o, double epsilon, double momentum, bool unbiased,
                                  const void *const *inputs, double *const made[ONS_AT_LEAST(ONS_BATCH_MADE)]);

/* n / (n − 1), as PyTorch corrects the variance that it keeps; a single value has nothing to correct. */
static inline double ons_batch_training_correct(double n, bool unbiased) { return unbiased && n > 1 ? n / (n - 1) : 1; }
static inline double ons_batch_training_correction_of(const ons_channels *c, bool unbiased) {
    return ons_batch_training_correct((double)c->batch * (double)c->positions, unbiased);
}

#endif
