#include "kernels/microsoft/activation.h"

#include "kernels/operators.h"

#include <math.h>

typedef enum kind {
    NONE,
    RELU,
    SIGMOID,
    TANH,
    ELU,
    LEAKY_RELU,
    CLIP,
    HARD_SIGMOID,
    HARD_SWISH,
    SELU,
    SOFTPLUS,
    SOFTSIGN,
    THRESHOLDED_RELU,
    KIND_COUNT
} kind;

static const struct {
    const char *name;
    double defaults[ONS_ACTIVATION_PARAMETERS];
} functions[] = {
    [NONE] = {"", {0}},
    [RELU] = {"Relu", {0}},
    [SIGMOID] = {"Sigmoid", {0}},
    [TANH] = {"Tanh", {0}},
    [ELU] = {"Elu", {1}},
    [LEAKY_RELU] = {"LeakyRelu", {0.01}},
    [CLIP] = {"Clip", {-INFINITY, INFINITY}},
    [HARD_SIGMOID] = {"HardSigmoid", {0.2, 0.5}},
    [HARD_SWISH] = {"HardSwish", {0}},
    [SELU] = {"Selu", {1.67326319217681884765625, 1.05070102214813232421875}},
    [SOFTPLUS] = {"Softplus", {0}},
    [SOFTSIGN] = {"Softsign", {0}},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", {1}},
};

static kind kind_of(const ons_activation *activation) {
    int found = 0;
    while (found < KIND_COUNT && strcmp(functions[found].name, activation->name == NULL ? "" : activation->name) != 0)
        ++found;
    return (kind)found;
}

ons_status *ons_activation_resolve(const ons_operands *o, ons_activation *activation) {
    kind found = kind_of(activation);
    if (found == KIND_COUNT)
        return ons_node_error(o,
                              "the activation '%s' is not supported; export the model without ONNX Runtime's fusions",
                              activation->name);
    for (uint32_t i = activation->parameter_count; i < ONS_ACTIVATION_PARAMETERS; ++i)
        activation->parameters[i] = functions[found].defaults[i];
    return NULL;
}

static ons_value_id with_two(ons_replacement *m, const ons_operator *op, ons_value_id x, double first, double second) {
    return ons_build(m->builder, op, ONS_IN(x), ONS_WITH(ONS_AT_FLOAT(0, first), ONS_AT_FLOAT(1, second)));
}

ons_value_id ons_activation_expand(ons_replacement *m, const ons_activation *activation, ons_value_id x) {
    double first = activation->parameters[0], second = activation->parameters[1];
    switch (kind_of(activation)) {
    case RELU: return ons_expand1(m, &ons_op_relu, x);
    case SIGMOID: return ons_expand1(m, &ons_op_sigmoid, x);
    case TANH: return ons_expand1(m, &ons_op_tanh, x);
    case ELU: return ons_build(m->builder, &ons_op_elu, ONS_IN(x), ONS_WITH(ONS_AT_FLOAT(0, first)));
    case LEAKY_RELU: return ons_build(m->builder, &ons_op_leaky_relu, ONS_IN(x), ONS_WITH(ONS_AT_FLOAT(0, first)));
    case HARD_SIGMOID: return with_two(m, &ons_op_hard_sigmoid, x, first, second);
    case HARD_SWISH: return ons_expand1(m, &ons_op_hard_swish, x);
    case SELU: return with_two(m, &ons_op_selu, x, first, second);
    case SOFTPLUS: return ons_expand1(m, &ons_op_softplus, x);
    case SOFTSIGN: return ons_expand1(m, &ons_op_softsign, x);
    case THRESHOLDED_RELU:
        return ons_build(m->builder, &ons_op_thresholded_relu, ONS_IN(x), ONS_WITH(ONS_AT_FLOAT(0, first)));
    case CLIP: break;
    default: return x;
    }
    return ons_build(m->builder, &ons_op_clip,
                     ONS_IN(x, ons_expand_scalar_like(m, x, first), ons_expand_scalar_like(m, x, second)),
                     ONS_DEFAULTS);
}

double ons_activation_reference(const ons_activation *activation, double x) {
    double first = activation->parameters[0], second = activation->parameters[1];
    switch (kind_of(activation)) {
    case RELU: return x > 0 ? x : 0;
    case SIGMOID: return 1 / (1 + exp(-x));
    case TANH: return tanh(x);
    case ELU: return x < 0 ? first * expm1(x) : x;
    case LEAKY_RELU: return x < 0 ? first * x : x;
    case HARD_SIGMOID: return fmin(fmax(first * x + second, 0), 1);
    case CLIP: return fmin(fmax(x, first), second);
    case HARD_SWISH: return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case SELU: return second * (x > 0 ? x : first * expm1(x));
    case SOFTPLUS: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case SOFTSIGN: return x / (1 + fabs(x));
    case THRESHOLDED_RELU: return x > first ? x : 0;
    default: return x;
    }
}
