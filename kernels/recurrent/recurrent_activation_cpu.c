/* What the CPU runs of recurrent_activation.h. */
#include "kernels/recurrent/recurrent_activation.h"

#include <strings.h>

#include "kernels/common/math/vector_math.h"

/* VALUE in terms of v, SLOPE of v and y. */
#define ROW(VALUE, SLOPE)                                                                                              \
    for (int64_t i = 0; i < count; ++i) {                                                                              \
        float v = x[i] < -clip ? -clip : x[i];                                                                         \
        v = v > clip ? clip : v;                                                                                       \
        float y = (VALUE);                                                                                             \
        slopes[i] = ons_absolute(x[i]) > clip ? 0.0f : (SLOPE);                                                        \
        x[i] = y;                                                                                                      \
    }                                                                                                                  \
    break;

static void row_with_slopes(const ons_activation *a, float clip, float *restrict x, float *restrict slopes,
                            int64_t count) {
    const float alpha = (float)a->alpha, beta = (float)a->beta;
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: ROW(ons_sigmoid(v), y * (1.0f - y))
    case ONS_ACTIVATION_TANH: ROW(ons_tanh(v), 1.0f - y * y)
    case ONS_ACTIVATION_RELU: ROW(v < 0.0f ? 0.0f : v, v > 0.0f ? 1.0f : 0.0f)
    case ONS_ACTIVATION_AFFINE: ROW(alpha * v + beta, alpha)
    case ONS_ACTIVATION_LEAKY_RELU: ROW(v < 0.0f ? alpha * v : v, v < 0.0f ? alpha : 1.0f)
    case ONS_ACTIVATION_THRESHOLDED_RELU: ROW(v < alpha ? 0.0f : v, v < alpha ? 0.0f : 1.0f)
    case ONS_ACTIVATION_SCALED_TANH:
        for (int64_t i = 0; i < count; ++i) {
            float v = x[i] < -clip ? -clip : x[i];
            v = v > clip ? clip : v;
            float inner = ons_tanh(beta * v);
            slopes[i] = ons_absolute(x[i]) > clip ? 0.0f : alpha * beta * (1.0f - inner * inner);
            x[i] = alpha * inner;
        }
        break;
    case ONS_ACTIVATION_HARD_SIGMOID: {
        ROW(alpha * v + beta < 0.0f ? 0.0f : (alpha * v + beta > 1.0f ? 1.0f : alpha * v + beta),
            y > 0.0f && y < 1.0f ? alpha : 0.0f)
    }
    case ONS_ACTIVATION_ELU: ROW(v < 0.0f ? alpha * ons_exp_minus_one(v) : v, v < 0.0f ? alpha * ons_exp(v) : 1.0f)
    case ONS_ACTIVATION_SOFTSIGN:
        ROW(v / (1.0f + ons_absolute(v)), 1.0f / ((1.0f + ons_absolute(v)) * (1.0f + ons_absolute(v))))
    case ONS_ACTIVATION_SOFTPLUS: ROW(ons_softplus(v), ons_sigmoid(v))
    }
}

void ons_activation_row(const ons_activation *a, float clip, float *x, float *slopes, int64_t count) {
    if (slopes != NULL) {
        row_with_slopes(a, clip, x, slopes, count);
        return;
    }
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID:
        for (int64_t i = 0; i < count; ++i) x[i] = ons_sigmoid(x[i]);
        break;
    case ONS_ACTIVATION_TANH:
        for (int64_t i = 0; i < count; ++i) x[i] = ons_tanh(x[i]);
        break;
    default:
        for (int64_t i = 0; i < count; ++i) x[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}

void ons_activation_row_slopes(const ons_activation *a, const float *y, float *slopes, int64_t count) {
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID:
        for (int64_t i = 0; i < count; ++i) slopes[i] = y[i] * (1.0f - y[i]);
        break;
    case ONS_ACTIVATION_TANH:
        for (int64_t i = 0; i < count; ++i) slopes[i] = 1.0f - y[i] * y[i];
        break;
    default:
        for (int64_t i = 0; i < count; ++i) slopes[i] = y[i] > 0.0f ? 1.0f : 0.0f;
    }
}
