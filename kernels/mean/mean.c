/* Mean: of all operands. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/variadic.h"

ONS_VARIADIC_REFERENCE(mean_float_reference, double, a + b, a / (double)count)
ONS_VARIADIC_SPAN(mean_float32, float, float, a + b, a / (float)count)
ONS_BINARY_PREPARE(mean, {ONS_FLOAT32, mean_float32})

static void mean_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    (void)step;
    mean_float_reference(o, inputs, outputs);
}

static ons_status *mean_gradient(ons_gradient *g) {
    uint32_t count = g->operands->input_count;
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], ons_make_scalar(g, count));
    for (uint32_t i = 0; i < count; ++i) g->gradients[i] = share;
    return NULL;
}

static ons_cost mean_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->outputs[0]) * o->input_count, ons_operand_bytes(o)};
}

static const ons_case mean_cases[] = {
    {.name = "one", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "two", .inputs = {ONS_F32(5, 7), ONS_F32(7)}, .tolerance = 1e-6, .flops = 70},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 2},
    {.name = "three", .inputs = {ONS_F32(3, 1), ONS_F32(2, 3, 300), ONS_F32()}, .tolerance = 1e-6, .flops = 5400},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35), ONS_F32(35), ONS_F32(16, 1, 1)},
     .tolerance = 1e-6,
     .flops = 221760},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 64, 56, 56)},
     .tolerance = 1e-6,
     .flops = 25690112,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(3), ONS_F32(4)}, .error = "broadcast"},
    {.name = "types", .inputs = {ONS_F32(3), ONS_I64(1)}, .error = "element types"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(mean, "Mean", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(mean_cost),
                    ONS_GRADIENT_RULE(mean_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mean_reference), ONS_CPU_KERNEL(mean_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_variadic_prepare, ons_cuda_mean), mean_cases);
