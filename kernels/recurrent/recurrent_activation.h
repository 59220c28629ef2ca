/* The activation functions that recurrent operators can be given by name. */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_ACTIVATION_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_ACTIVATION_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ons_activation_kind {
    ONS_ACTIVATION_SIGMOID,
    ONS_ACTIVATION_TANH,
    ONS_ACTIVATION_RELU,
    ONS_ACTIVATION_AFFINE,
    ONS_ACTIVATION_LEAKY_RELU,
    ONS_ACTIVATION_THRESHOLDED_RELU,
    ONS_ACTIVATION_SCALED_TANH,
    ONS_ACTIVATION_HARD_SIGMOID,
    ONS_ACTIVATION_ELU,
    ONS_ACTIVATION_SOFTSIGN,
    ONS_ACTIVATION_SOFTPLUS,
} ons_activation_kind;

typedef struct ons_recurrent_activation {
    ons_activation_kind kind;
    double alpha, beta;
} ons_recurrent_activation;

/* By the name in the file, in any case, with ONNX's default alpha and beta; says which of the two the function has. */
bool ons_recurrent_activation_find(const char *name, ons_recurrent_activation *activation, bool *has_alpha,
                                   bool *has_beta);

/* The derivative follows from the result: 1 - y² of tanh, say. Else it is kept beside the result. */
bool ons_recurrent_activation_result_tells(const ons_recurrent_activation *activation);

/* In double. */
double ons_recurrent_activation_value(const ons_recurrent_activation *activation, double x);
double ons_recurrent_activation_slope(const ons_recurrent_activation *activation, double x);
double ons_recurrent_activation_slope_from_result(const ons_recurrent_activation *activation, double y);

/* In float, a row of `count` values in place. `slopes` NULL: not wanted (and then nothing is clipped); otherwise x is
 * clipped to [-clip, clip] first, beyond which the slope is 0. */
void ons_recurrent_activation_row(const ons_recurrent_activation *activation, float clip, float *x, float *slopes,
                                  int64_t count);
void ons_recurrent_activation_row_slopes(const ons_recurrent_activation *activation, const float *y, float *slopes,
                                         int64_t count);

#endif
