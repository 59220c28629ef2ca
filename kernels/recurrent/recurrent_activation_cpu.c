/* What the CPU runs of recurrent_activation.h. */
#include "kernels/recurrent/recurrent_activation.h"

#include <strings.h>

#include "kernels/common/math/vector_math.h"

/* Value and slope of a function. */
typedef struct bend {
    float y, slope;
} bend;

/* The function NAME: VALUE in terms of v, alpha and beta, SLOPE of y as well.
 *
 *  */
#define BEND(NAME, VALUE, SLOPE)                                                                                       \
    static inline bend NAME(float v, float alpha, float beta) {                                                        \
        float y = (VALUE);                                                                                             \
        return (bend){y, (SLOPE)};                                                                                     \
    }
BEND(sigmoid, ons_sigmoid(v), y *(1.0f - y))
BEND(hyperbolic, ons_tanh(v), 1.0f - y * y)
BEND(rectifier, v<0.0f ? 0.0f : v, v> 0.0f ? 1.0f : 0.0f)
BEND(affine, alpha *v + beta, alpha)
BEND(leaky, v < 0.0f ? alpha * v : v, v < 0.0f ? alpha : 1.0f)
BEND(thresholded, v < alpha ? 0.0f : v, v < alpha ? 0.0f : 1.0f)
BEND(hard_sigmoid, alpha *v + beta < 0.0f ? 0.0f : (alpha * v + beta > 1.0f ? 1.0f : alpha * v + beta),
     y > 0.0f && y < 1.0f ? alpha : 0.0f)
BEND(exponential, v < 0.0f ? alpha * ons_exp_minus_one(v) : v, v < 0.0f ? alpha * ons_exp(v) : 1.0f)
BEND(softsign, v / (1.0f + ons_absolute(v)), 1.0f / ((1.0f + ons_absolute(v)) * (1.0f + ons_absolute(v))))
BEND(softplus, ons_softplus(v), ons_sigmoid(v))

static inline bend scaled(float v, float alpha, float beta) {
    float inner = ons_tanh(beta * v);
    return (bend){alpha * inner, alpha * beta * (1.0f - inner * inner)};
}

typedef bend bend_function(float v, float alpha, float beta);

/* Inlined, and the function with it, where the switch below names it. */
static inline __attribute__((always_inline)) void bend_row(float *restrict x, float *restrict slopes, int64_t count,
                                                           float clip, float alpha, float beta,
                                                           bend_function *function) {
    for (int64_t i = 0; i < count; ++i) {
        float v = x[i] < -clip ? -clip : x[i];
        v = v > clip ? clip : v;
        bend bent = function(v, alpha, beta);
        slopes[i] = ons_absolute(x[i]) > clip ? 0.0f : bent.slope;
        x[i] = bent.y;
    }
}

static void row_with_slopes(const ons_recurrent_activation *a, float clip, float *restrict x, float *restrict slopes,
                            int64_t n) {
    const float alpha = (float)a->alpha, beta = (float)a->beta;
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: bend_row(x, slopes, n, clip, alpha, beta, sigmoid); break;
    case ONS_ACTIVATION_TANH: bend_row(x, slopes, n, clip, alpha, beta, hyperbolic); break;
    case ONS_ACTIVATION_RELU: bend_row(x, slopes, n, clip, alpha, beta, rectifier); break;
    case ONS_ACTIVATION_AFFINE: bend_row(x, slopes, n, clip, alpha, beta, affine); break;
    case ONS_ACTIVATION_LEAKY_RELU: bend_row(x, slopes, n, clip, alpha, beta, leaky); break;
    case ONS_ACTIVATION_THRESHOLDED_RELU: bend_row(x, slopes, n, clip, alpha, beta, thresholded); break;
    case ONS_ACTIVATION_SCALED_TANH: bend_row(x, slopes, n, clip, alpha, beta, scaled); break;
    case ONS_ACTIVATION_HARD_SIGMOID: bend_row(x, slopes, n, clip, alpha, beta, hard_sigmoid); break;
    case ONS_ACTIVATION_ELU: bend_row(x, slopes, n, clip, alpha, beta, exponential); break;
    case ONS_ACTIVATION_SOFTSIGN: bend_row(x, slopes, n, clip, alpha, beta, softsign); break;
    case ONS_ACTIVATION_SOFTPLUS: bend_row(x, slopes, n, clip, alpha, beta, softplus); break;
    }
}

void ons_recurrent_activation_row(const ons_recurrent_activation *a, float clip, float *x, float *slopes,
                                  int64_t count) {
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

void ons_recurrent_activation_row_slopes(const ons_recurrent_activation *a, const float *y, float *slopes,
                                         int64_t count) {
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
