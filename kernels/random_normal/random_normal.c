/* RandomNormal: a tensor of normal numbers, drawn anew at every run. */
#include "kernels/common/random.h"

static const ons_case random_normal_cases[] = {
    {.name = "matrix", .settings = {ONS_SET_INTS("shape", 5, 7)}, .tolerance = 1e-5, .flops = 700},
    {.name = "range",
     .settings = {ONS_SET_INTS("shape", 3, 300), ONS_SET_FLOAT("mean", -3), ONS_SET_FLOAT("scale", 0.5)},
     .tolerance = 1e-5,
     .flops = 18000},
    {.name = "seed",
     .settings = {ONS_SET_INTS("shape", 9), ONS_SET_FLOAT("seed", 4.5)},
     .tolerance = 1e-5,
     .flops = 180},
    {.name = "double", .settings = {ONS_SET_INTS("shape", 9), ONS_SET_INT("dtype", ONS_FLOAT64)}, .flops = 180},
    {.name = "half",
     .settings = {ONS_SET_INTS("shape", 9), ONS_SET_INT("dtype", ONS_FLOAT16)},
     .tolerance = 1e-3,
     .flops = 180},
    {.name = "threads", .settings = {ONS_SET_INTS("shape", 16, 33, 35)}, .tolerance = 1e-5, .flops = 369600},
    {.name = "empty", .settings = {ONS_SET_INTS("shape", 0, 4)}, .flops = 0},
    {.name = "integers", .settings = {ONS_SET_INTS("shape", 4), ONS_SET_INT("dtype", ONS_INT64)}, .error = "float"},
    {.name = "negative", .settings = {ONS_SET_INTS("shape", 4, -1)}, .error = "dimension 1"},
    {.name = "large",
     .settings = {ONS_SET_INTS("shape", 64, 64, 56, 56)},
     .tolerance = 1e-5,
     .flops = 256901120,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(random_normal, "RandomNormal", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(0, 0, 1, 1),
                    ONS_ATTRIBUTES(ONS_RANDOM_NORMAL_ATTRIBUTES, ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(ons_random_infer), ONS_COST(ons_random_cost), ONS_NOT_DIFFERENTIABLE("it has no inputs"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(ons_random_normal_reference),
                    ONS_CPU_KERNEL(ons_random_prepare, ons_random_normal_run),
                    ONS_CUDA_KERNEL(ons_random_prepare, ons_cuda_random_normal), random_normal_cases);
