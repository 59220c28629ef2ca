/* GroupNormalization: groups of channels of every sample by their own mean and deviation, then × scale + bias by
 * channel, or by group as before opset 21. Outputs 1 and 2, mean and inverse deviation, are there for the gradient. */
#include "graph/upgrade.h"
#include "kernels/common/cuda_batch.h"
#include "kernels/common/group_norm.h"
#include "kernels/group_normalization/patterns.h"

enum { GROUPS, EPSILON, STASH_TYPE, SCALE_PER_GROUP };

static ons_status *find_norm(const ons_operands *o, ons_group_norm *norm) {
    return ons_group_norm_of(o, &o->inputs[0], &o->inputs[1], ons_attribute_int(o, GROUPS),
                             ons_attribute_int(o, SCALE_PER_GROUP) != 0, norm);
}

static ons_status *group_normalization_infer(ons_operands *o) {
    ons_group_norm norm;
    ONS_TRY(find_norm(o, &norm));
    return ons_group_norm_infer(o, &norm);
}

static ons_cost group_normalization_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *group_normalization_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    if (ons_layout_is_for_cuda(o)) return NULL; /* that kernel wants groups side by side: ONNX's order for all */
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void group_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_group_norm norm;
    ons_status_free(find_norm(o, &norm));
    ons_group_norm_reference(o, &norm, ons_attribute_float(o, EPSILON), inputs, outputs);
}

static ons_status *group_normalization_prepare(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_group_norm_prepare(p, &norm, ons_attribute_float(p->operands, EPSILON));
}

static ons_status *group_normalization_gradient(ons_gradient *g) {
    ons_group_norm norm;
    ONS_TRY(find_norm(g->operands, &norm));
    return ons_group_norm_build_gradient(g, &norm);
}

static ons_status *group_normalization_upgrade(ons_upgrade *u) {
    if (u->opset >= 21) return NULL;
    return ons_upgrade_set(u, "onstage_scale_per_group", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1});
}

static ons_status *group_normalization_prepare_cuda(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_cuda_group_prepare(p, &p->operands->inputs[0], &norm, ons_attribute_float(p->operands, EPSILON));
}

static const ons_case group_normalization_cases[] = {
    {.name = "groups",
     .inputs = {ONS_F32(2, 6, 3, 4), ONS_F32(6), ONS_F32(6)},
     .settings = {ONS_SET_INT("num_groups", 3)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1152},
    {.name = "result_alone",
     .inputs = {ONS_F32(2, 6, 7), ONS_F32(6), ONS_F32(6)},
     .settings = {ONS_SET_INT("num_groups", 2), ONS_SET_FLOAT("epsilon", 0.01)},
     .tolerance = 1e-5,
     .flops = 672},
    {.name = "scale_per_group",
     .inputs = {ONS_F32(2, 6, 5), ONS_F32(2), ONS_F32(2)},
     .settings = {ONS_SET_INT("num_groups", 2), ONS_SET_INT("onstage_scale_per_group", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 480},
    {.name = "one_group",
     .inputs = {ONS_F32(3, 4, 5), ONS_F32(4), ONS_F32(4)},
     .settings = {ONS_SET_INT("num_groups", 1)},
     .tolerance = 1e-5,
     .flops = 480},
    {.name = "matrix",
     .inputs = {ONS_F32(3, 12), ONS_F32(12), ONS_F32(12)},
     .settings = {ONS_SET_INT("num_groups", 4)},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 288},
    {.name = "volume",
     .inputs = {ONS_F32(2, 4, 2, 3, 4), ONS_F32(4), ONS_F32(4)},
     .settings = {ONS_SET_INT("num_groups", 2)},
     .tolerance = 1e-5,
     .flops = 1536},
    {.name = "far_mean",
     .inputs = {ONS_F32_IN(99, 101, 2, 4, 5, 5), ONS_F32(4), ONS_F32(4)},
     .settings = {ONS_SET_INT("num_groups", 2)},
     .outputs = 3,
     .tolerance = 3e-5,
     .flops = 1600,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(5, 32, 17, 13), ONS_F32(32), ONS_F32(32)},
     .settings = {ONS_SET_INT("num_groups", 8)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 282880,
     .no_gradient = true},
    {.name = "empty",
     .inputs = {ONS_F32(0, 6, 3), ONS_F32(6), ONS_F32(6)},
     .settings = {ONS_SET_INT("num_groups", 3)},
     .outputs = 3,
     .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(8, 128, 32, 32), ONS_F32(128), ONS_F32(128)},
     .settings = {ONS_SET_INT("num_groups", 32)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 8388608,
     .benchmark = true},
    {.name = "uneven_groups",
     .inputs = {ONS_F32(2, 5, 3), ONS_F32(5), ONS_F32(5)},
     .settings = {ONS_SET_INT("num_groups", 2)},
     .error = "groups"},
    {.name = "no_groups",
     .inputs = {ONS_F32(2, 5, 3), ONS_F32(5), ONS_F32(5)},
     .settings = {ONS_SET_INT("num_groups", 0)},
     .error = "groups"},
    {.name = "scale_differs",
     .inputs = {ONS_F32(2, 6, 3), ONS_F32(2), ONS_F32(2)},
     .settings = {ONS_SET_INT("num_groups", 2)},
     .error = "vectors of 6"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(group_normalization, "GroupNormalization", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(3, 3, 1, 3),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("num_groups", ONS_ATTRIBUTE_INT),
                                   ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5), ONS_INT_ATTRIBUTE("stash_type", 1),
                                   ONS_INT_ATTRIBUTE("onstage_scale_per_group", 0)),
                    ONS_INFER(group_normalization_infer), ONS_COST(group_normalization_cost),
                    ONS_GRADIENT_RULE(group_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(group_normalization_choose),
                    ONS_FORMS(group_normalization_upgrade, ons_group_norm_patterns, NULL),
                    ONS_REFERENCE(group_normalization_reference),
                    ONS_CPU_KERNEL(group_normalization_prepare, ons_group_norm_run),
                    ONS_CUDA_KERNEL(group_normalization_prepare_cuda, ons_cuda_group_normalization),
                    group_normalization_cases);
