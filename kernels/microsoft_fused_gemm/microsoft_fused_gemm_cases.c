/* FusedGemm: cases for tests and benchmarks. */
#include "kernels/case.h"

#define ACTIVATION_CASE(NAME, FUNCTION, ALPHA, BETA)                                                                   \
    {                                                                                                                  \
        .name = (NAME), .inputs = {ONS_F32(5, 7), ONS_F32(3, 7), ONS_F32(3)},                                          \
        .settings = {ONS_SET_STRING("activation", FUNCTION), ONS_SET_INT("transB", 1),                                 \
                     ONS_SET_FLOAT("activation_alpha", ALPHA), ONS_SET_FLOAT("activation_beta", BETA)},                \
        .flops = 225                                                                                                   \
    }

const ons_case ons_cases_microsoft_fused_gemm[] = {
    ACTIVATION_CASE("relu", "Relu", 0, 0),
    ACTIVATION_CASE("sigmoid", "Sigmoid", 0, 0),
    ACTIVATION_CASE("tanh", "Tanh", 0, 0),
    ACTIVATION_CASE("elu", "Elu", 0.7, 0),
    ACTIVATION_CASE("leaky_relu", "LeakyRelu", 0.2, 0),
    ACTIVATION_CASE("clip", "Clip", -0.5, 0.8),
    ACTIVATION_CASE("hard_sigmoid", "HardSigmoid", 0.3, 0.4),
    ACTIVATION_CASE("selu", "Selu", 1.5, 1.1),
    ACTIVATION_CASE("softplus", "Softplus", 0, 0),
    ACTIVATION_CASE("softsign", "Softsign", 0, 0),
    ACTIVATION_CASE("thresholded_relu", "ThresholdedRelu", 0.3, 0),
    ACTIVATION_CASE("hard_swish", "HardSwish", 0, 0),
    {.name = "default",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)},
     .settings = {ONS_SET_STRING("activation", "LeakyRelu"), ONS_SET_FLOAT("alpha", 0.5)},
     .flops = 210},
    {.name = "unknown",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)},
     .settings = {ONS_SET_STRING("activation", "Swish")},
     .error = "Swish"},
    {.name = NULL},
};
