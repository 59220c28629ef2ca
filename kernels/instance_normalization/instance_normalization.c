/* InstanceNormalization: every channel of every sample by its own mean and deviation, then × scale + bias. Outputs 1
 * and 2, mean and inverse deviation, are there for the gradient. */
#include "kernels/common/cuda_batch.h"
#include "kernels/common/group_norm.h"

enum { EPSILON };

static ons_status *find_norm(const ons_operands *o, ons_group_norm *norm) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t groups = shape->rank > 1 && shape->dims[1] > 0 ? shape->dims[1] : 1;
    return ons_group_norm_of(o, &o->inputs[0], &o->inputs[1], groups, false, norm);
}

static ons_status *instance_normalization_infer(ons_operands *o) {
    ons_group_norm norm;
    ONS_TRY(find_norm(o, &norm));
    return ons_group_norm_infer(o, &norm);
}

static ons_cost instance_normalization_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *instance_normalization_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    if (ons_layout_is_for_cuda(o)) return NULL; /* that kernel wants groups side by side: ONNX's order for all */
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void instance_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    (void)step;
    ons_group_norm norm;
    ons_status_free(find_norm(o, &norm));
    ons_group_norm_reference(o, &norm, ons_attribute_float(o, EPSILON), inputs, outputs);
}

static ons_status *instance_normalization_prepare(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_group_norm_prepare(p, &norm, ons_attribute_float(p->operands, EPSILON));
}

static ons_status *instance_normalization_gradient(ons_gradient *g) {
    ons_group_norm norm;
    ONS_TRY(find_norm(g->operands, &norm));
    return ons_group_norm_build_gradient(g, &norm);
}

static ons_status *instance_normalization_prepare_cuda(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_cuda_group_prepare(p, &p->operands->inputs[0], &norm, ons_attribute_float(p->operands, EPSILON));
}

static const ons_case instance_normalization_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 5, 3, 4), ONS_F32(5), ONS_F32(5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 960},
    {.name = "result_alone", .inputs = {ONS_F32(2, 5, 3, 4), ONS_F32(5), ONS_F32(5)}, .tolerance = 1e-5, .flops = 960},
    {.name = "epsilon",
     .inputs = {ONS_F32(2, 5, 9), ONS_F32(5), ONS_F32(5)},
     .settings = {ONS_SET_FLOAT("epsilon", 0.01)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 720},
    {.name = "volume", .inputs = {ONS_F32(2, 3, 2, 3, 4), ONS_F32(3), ONS_F32(3)}, .tolerance = 1e-5, .flops = 1152},
    {.name = "far_mean",
     .inputs = {ONS_F32_IN(99, 101, 2, 3, 5, 5), ONS_F32(3), ONS_F32(3)},
     .outputs = 3,
     .tolerance = 3e-5,
     .flops = 1200,
     .no_gradient = true},
    {.name = "one_sample",
     .inputs = {ONS_F32(1, 33, 29, 31), ONS_F32(33), ONS_F32(33)},
     .tolerance = 1e-5,
     .flops = 237336,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(4, 33, 17, 19), ONS_F32(33), ONS_F32(33)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 341088,
     .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 5, 3, 4), ONS_F32(5), ONS_F32(5)}, .outputs = 3, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(64), ONS_F32(64)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 25690112,
     .benchmark = true},
    {.name = "channels_differ", .inputs = {ONS_F32(2, 5, 3), ONS_F32(4), ONS_F32(4)}, .error = "vectors of 5"},
    {.name = "bias_differs", .inputs = {ONS_F32(2, 5, 3), ONS_F32(5), ONS_F32(4)}, .error = "one size"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(instance_normalization, "InstanceNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 3, 1, 3),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5)), ONS_INFER(instance_normalization_infer),
                    ONS_COST(instance_normalization_cost),
                    ONS_GRADIENT_RULE(instance_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(instance_normalization_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(instance_normalization_reference),
                    ONS_CPU_KERNEL(instance_normalization_prepare, ons_group_norm_run),
                    ONS_CUDA_KERNEL(instance_normalization_prepare_cuda, ons_cuda_instance_normalization),
                    instance_normalization_cases);
