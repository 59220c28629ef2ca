/* RandomUniformLike: the same numbers as RandomUniform's in the shape of the input, whose contents do not matter. */
#include "kernels/common/random.h"
#include "kernels/common/unary.h"

static const ons_case random_uniform_like_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 700},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-5, .flops = 20},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 5, 7)},
     .settings = {ONS_SET_INT("dtype", ONS_FLOAT32), ONS_SET_FLOAT("seed", 1)},
     .tolerance = 1e-5,
     .flops = 700},
    {.name = "half", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 9)}, .tolerance = 1e-3, .flops = 180},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "no_dtype", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 5)}, .error = "float"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(random_uniform_like, "RandomUniformLike", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_RANDOM_UNIFORM_ATTRIBUTES), ONS_INFER(ons_random_like_infer),
                    ONS_COST(ons_random_cost), ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_random_uniform_reference),
                    ONS_CPU_KERNEL(ons_random_prepare, ons_random_uniform_run),
                    ONS_CUDA_KERNEL(ons_random_prepare, ons_cuda_random_uniform_like), random_uniform_like_cases);
