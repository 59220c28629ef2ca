#include "kernels/recurrent/recurrent_activation.h"

#include <math.h>
#include <strings.h>

bool ons_recurrent_activation_find(const char *name, ons_recurrent_activation *activation, bool *has_alpha,
                                   bool *has_beta) {
    static const struct {
        const char *name;
        ons_recurrent_activation defaults;
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

bool ons_recurrent_activation_result_tells(const ons_recurrent_activation *activation) {
    return activation->kind <= ONS_ACTIVATION_RELU;
}

double ons_recurrent_activation_value(const ons_recurrent_activation *a, double x) {
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

double ons_recurrent_activation_slope(const ons_recurrent_activation *a, double x) {
    double y = ons_recurrent_activation_value(a, x);
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

double ons_recurrent_activation_slope_from_result(const ons_recurrent_activation *a, double y) {
    switch (a->kind) {
    case ONS_ACTIVATION_SIGMOID: return y * (1 - y);
    case ONS_ACTIVATION_TANH: return 1 - y * y;
    default: return y > 0;
    }
}
