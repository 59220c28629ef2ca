/* NegativeLogLikelihoodLossGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

#define LABELS(LAST, ...) ONS_RANDOM(ONS_INT64, 0, LAST, __VA_ARGS__)

const ons_case ons_cases_negative_log_likelihood_loss_gradient[] = {
    {.name = "mean", .inputs = {ONS_F32(5, 7), LABELS(6, 5), ONS_F32()}, .tolerance = 1e-6, .flops = 5},
    {.name = "weights",
     .inputs = {ONS_F32(6, 7),
                {.dtype = ONS_INT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}},
                ONS_F32(),
                ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_INT("ignore_index", -100)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "none",
     .inputs = {ONS_F32(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32(2, 3, 29), ONS_F32_IN(0.2, 2, 5)},
     .settings = {ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "sum",
     .inputs = {ONS_F32(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32()},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "large",
     .inputs = {ONS_F32(4096, 1000), LABELS(999, 4096), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 4096,
     .benchmark = true},
    {.name = NULL},
};
