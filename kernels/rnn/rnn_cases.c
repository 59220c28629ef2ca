/* RNN: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/recurrent/recurrent_cases.h"

#define OPERANDS(T, N, I, H, D) ONS_RECURRENT_OPERANDS(T, N, I, H, D, 1), ONS_F32(D, 2 * (H))

#define QUIET(T, N, I, H, D) ONS_RECURRENT_QUIET_OPERANDS(T, N, I, H, D, 1), ONS_F32(D, 2 * (H))

#define WITH_ACTIVATION(NAME, FUNCTION, ...)                                                                           \
    {                                                                                                                  \
        .name = (NAME), .inputs = {OPERANDS(3, 2, 3, 5, 1)},                                                           \
        .settings = {ONS_SET_STRINGS("activations", FUNCTION), __VA_ARGS__}, .outputs = 3, .tolerance = 1e-5,          \
        .flops = 480                                                                                                   \
    }

const ons_case ons_cases_rnn[] = {
    {.name = "forward", .inputs = {OPERANDS(5, 3, 4, 6, 1)}, .outputs = 3, .tolerance = 1e-5, .flops = 1800},
    {.name = "no_bias", .inputs = {ONS_RECURRENT_OPERANDS(3, 2, 5, 7, 1, 1)}, .tolerance = 1e-5, .flops = 1008},
    {.name = "reverse_lengths",
     .inputs = {OPERANDS(5, 4, 3, 4, 1), ONS_RECURRENT_LENGTHS_OF(5, 4), ONS_F32(1, 4, 4)},
     .settings = {ONS_SET_STRING("direction", "reverse")},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1120},
    {.name = "bidirectional",
     .inputs = {OPERANDS(4, 3, 3, 5, 2), ONS_RECURRENT_LENGTHS_OF(4, 3), ONS_F32(2, 3, 5)},
     .settings = {ONS_SET_STRING("direction", "bidirectional"), ONS_SET_STRINGS("activations", "Tanh", "Relu")},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1920},
    {.name = "batch_first",
     .inputs = {ONS_F32(3, 4, 2), ONS_F32(2, 3, 2), ONS_F32(2, 3, 3), ONS_F32(2, 6), ONS_RECURRENT_LENGTHS_OF(4, 3),
                ONS_F32(3, 2, 3)},
     .settings = {ONS_SET_STRING("direction", "bidirectional"), ONS_SET_INT("layout", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 720},
    WITH_ACTIVATION("relu", "Relu"),
    WITH_ACTIVATION("sigmoid", "Sigmoid"),
    WITH_ACTIVATION("affine", "Affine", ONS_SET_FLOATS("activation_alpha", 0.5), ONS_SET_FLOATS("activation_beta", 1)),
    WITH_ACTIVATION("leaky_relu", "LeakyRelu"),
    WITH_ACTIVATION("thresholded_relu", "ThresholdedRelu", ONS_SET_FLOATS("activation_alpha", 0.5)),
    WITH_ACTIVATION("scaled_tanh", "ScaledTanh", ONS_SET_FLOATS("activation_alpha", 1.7),
                    ONS_SET_FLOATS("activation_beta", 0.66)),
    WITH_ACTIVATION("hard_sigmoid", "HardSigmoid"),
    WITH_ACTIVATION("elu", "Elu", ONS_SET_FLOATS("activation_alpha", 0.7)),
    WITH_ACTIVATION("softsign", "Softsign"),
    WITH_ACTIVATION("softplus", "Softplus"),
    WITH_ACTIVATION("clip_tanh", "Tanh", ONS_SET_FLOAT("clip", 0.5)),
    WITH_ACTIVATION("clip_sigmoid", "Sigmoid", ONS_SET_FLOAT("clip", 0.5)),
    WITH_ACTIVATION("clip_relu", "Relu", ONS_SET_FLOAT("clip", 0.5)),
    {.name = "threads",
     .inputs = {QUIET(6, 35, 20, 70, 2), ONS_RECURRENT_LENGTHS_OF(6, 35)},
     .settings = {ONS_SET_STRING("direction", "bidirectional")},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 5292000,
     .no_gradient = true},
    {.name = "clip_negative",
     .inputs = {OPERANDS(5, 3, 4, 2, 1)},
     .settings = {ONS_SET_FLOAT("clip", -1)},
     .error = "clip"},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 5, 2, 3, 4), ONS_RANDOM(ONS_INT64, 0, 5, 1, 2, 4),
                ONS_RANDOM(ONS_INT64, 0, 5, 1, 2, 2)},
     .error = "needed"},
    {.name = "layout", .inputs = {OPERANDS(5, 3, 4, 2, 1)}, .settings = {ONS_SET_INT("layout", 2)}, .error = "layout"},
    {.name = "large",
     .inputs = {QUIET(64, 32, 128, 256, 1)},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 402653184,
     .benchmark = true},
    {.name = NULL},
};
