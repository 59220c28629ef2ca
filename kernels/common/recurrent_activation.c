#include "kernels/common/recurrent_activation.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "kernels/common/vector_math.h"

bool ons_activation_find(const char *name, ons_activation *activation, bool *has_alpha, bool *has_beta) {
    static const struct {
        const char *name;
        ons_activation defaults;
        bool alpha, beta;
    } known[] = {
        {"Sigmoid", {ONS_ACTIVATION_SIGMOID, 0, 0}, false, false},
        {"Tanh", {ONS_ACTIVATION_TANH, 0, 0}, false, false},
        {"Relu", {ONS_ACTIVATION_RELU, 0, 0}, false, false},
        {"Affine", {ONS_ACTIVATION_AFFINE, 1, 0}, true, true},
        {"LeakyRelu", {ONS_ACTIVATION_LEAKY_RELU, 0.01, 0}, true, false},
        {"ThresholdedRelu", {ONS_ACTIVATION_THRESHOLDED_RELU, 1, 0}, true, false},
        {"ScaledTanh", {ONS_ACTIVATION_SCALED_TANH, 1, 1}, true, true},
        {"HardSigmoid", {ONS_ACTIVATION_HARD_SIGMOID, 0.2, 0.5}, true, true},
        {"Elu", {ONS_ACTIVATION_ELU, 1, 0}, true, false},
        {"Softsign", {ONS_ACTIVATION_SOFTSIGN, 0, 0}, false, false},
        {"Softplus", {ONS_ACTIVATION_SOFTPLUS, 0, 0}, false, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (strcasecmp(known[i].name, name) != 0) continue;
        *activation = known[i].defaults;
        *has_alpha = known[i].alpha;
        *has_beta = known[i].beta;
        return true;
    }
    return false;
}

bool ons_activation_result_tells(const ons_activation *activation) { return activation->kind <= ONS_ACTIVATION_RELU; }

/* ---------------------------------------------------------------------------------------------------------- in double
 */

double ons_activation_value(const ons_activation *a, double x) {
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case ONS_ACTIVATION_TANH: return tanh(x);
    case ONS_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case ONS_ACTIVATION_AFFINE: return a->alpha * x + a->beta;
    case ONS_ACTIVATION_LEAKY_RELU: return x < 0 ? a->alpha * x : x;
    case ONS_ACTIVATION_THRESHOLDED_RELU: return x < a->alpha ? 0 : x;
    case ONS_ACTIVATION_SCALED_TANH: return a->alpha * tanh(a->beta * x);
    case ONS_ACTIVATION_HARD_SIGMOID: return fmin(fmax(a->alpha * x + a->beta, 0), 1);
    case ONS_ACTIVATION_ELU: return x < 0 ? a->alpha * expm1(x) : x;
    case ONS_ACTIVATION_SOFTSIGN: return x / (1 + fabs(x));
    case ONS_ACTIVATION_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
    }
    return 0;
}

double ons_activation_slope(const ons_activation *a, double x) {
    double y = ons_activation_value(a, x);
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: return y * (1 - y);
    case ONS_ACTIVATION_TANH: return 1 - y * y;
    case ONS_ACTIVATION_RELU: return x > 0;
    case ONS_ACTIVATION_AFFINE: return a->alpha;
    case ONS_ACTIVATION_LEAKY_RELU: return x < 0 ? a->alpha : 1;
    case ONS_ACTIVATION_THRESHOLDED_RELU: return x < a->alpha ? 0 : 1;
    case ONS_ACTIVATION_SCALED_TANH: {
        double inner = tanh(a->beta * x);
        return a->alpha * a->beta * (1 - inner * inner);
    }
    case ONS_ACTIVATION_HARD_SIGMOID: return y > 0 && y < 1 ? a->alpha : 0;
    case ONS_ACTIVATION_ELU: return x < 0 ? a->alpha * exp(x) : 1;
    case ONS_ACTIVATION_SOFTSIGN: return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
    case ONS_ACTIVATION_SOFTPLUS: return 1 / (1 + exp(-x));
    }
    return 0;
}

double ons_activation_slope_from_result(const ons_activation *a, double y) {
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: return y * (1 - y);
    case ONS_ACTIVATION_TANH: return 1 - y * y;
    default: return y > 0;
    }
}

/* ----------------------------------------------------------------------------------------------------------- in float
 */

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
