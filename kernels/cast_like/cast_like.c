/* CastLike: to the element type of another value. */
#include "kernels/common/cast.h"
#include "kernels/common/cuda_elementwise.h"

static ons_status *cast_like_infer(ons_operands *o) { return ons_cast_infer(o, o->inputs[1].dtype); }

static ons_cost cast_like_cost(const ons_operands *o) {
    double n = (double)ons_elements(&o->inputs[0]);
    return (ons_cost){n, n * (double)(ons_dtype_size(o->inputs[0].dtype) + ons_dtype_size(o->outputs[0].dtype))};
}

static const ons_case cast_like_cases[] = {
    {.name = "float_double",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_FLOAT64, 0, 1, 2)},
     .tolerance = 1e-7,
     .flops = 35},
    {.name = "int64_float", .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 3, 16, 33, 35), ONS_F32()}, .flops = 55440},
    {.name = "float_int64", .inputs = {ONS_F32_IN(-99, 99, 35), ONS_RANDOM(ONS_INT64, 0, 1, 2)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99), ONS_F32(3)}, .flops = 1},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 0, 3), ONS_F32(3)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_INT64, -1000, 1000, 4096, 1024), ONS_F32()},
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cast_like, "CastLike", ONS_ONNX(15, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("saturate", 1), ONS_STRING_ATTRIBUTE("round_mode", "up")),
                    ONS_INFER(cast_like_infer), ONS_COST(cast_like_cost),
                    ONS_GRADIENT_RULE(ons_cast_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, ONS_NO_PATTERNS, ons_cast_mode),
                    ONS_REFERENCE(ons_cast_reference), ONS_CPU_KERNEL(ons_cast_prepare, ons_cast_run),
                    ONS_CUDA_KERNEL(ons_cuda_cast_prepare, ons_cuda_cast_like), cast_like_cases);
