/* CausalConvWithState: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_causal_conv_with_state[] = {
    {.name = "plain", .inputs = {ONS_F32(2, 3, 7), ONS_F32(3, 1, 4)}, .tolerance = 1e-5, .flops = 336},
    {.name = "state",
     .inputs = {ONS_F32(2, 3, 7), ONS_F32(3, 1, 4), ONS_F32(3), ONS_F32(2, 3, 3)},
     .settings = {ONS_SET_STRING("activation", "silu")},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 336},
    {.name = "state_made",
     .inputs = {ONS_F32(1, 2, 2), ONS_F32(2, 1, 4)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 32},
    {.name = "short_sequence",
     .inputs = {ONS_F32(1, 2, 1), ONS_F32(2, 1, 4), ONS_LEFT_OUT, ONS_F32(1, 2, 3)},
     .settings = {ONS_SET_STRING("activation", "swish")},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 16},
    {.name = "one_tap", .inputs = {ONS_F32(2, 3, 5), ONS_F32(3, 1, 1)}, .tolerance = 1e-5, .flops = 60},
    {.name = "weight_differs", .inputs = {ONS_F32(2, 3, 5), ONS_F32(2, 1, 4)}, .error = "weight"},
    {.name = "state_differs",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(3, 1, 4), ONS_LEFT_OUT, ONS_F32(2, 3, 4)},
     .error = "state"},
    {.name = "unknown_activation",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(3, 1, 4)},
     .settings = {ONS_SET_STRING("activation", "relu")},
     .error = "activation"},
    {.name = NULL},
};
