/* Slice: along each given axis the elements start, start + step, … before end. */
#include "graph/passes/autograd.h"
#include "graph/upgrade.h"
#include "kernels/common/layout/channels.h"
#include "kernels/operators.h"
#include "kernels/slice/slicing.h"

static ons_status *slice_infer(ons_operands *o) {
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &o->inputs[0].shape, &slicing));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, slicing.result);
    return NULL;
}

static void slice_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_slicing slicing = {0};
    ons_resolved(ons_slicing_of(o, &o->inputs[0].shape, &slicing));
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        ons_copy_word(outputs[0], i, inputs[0], ons_slicing_source(&slicing, &o->inputs[0].shape, i));
}

/* What comes from other readers of the same tensor is added to, at the elements of this slice alone. Half types are
 * rounded once, where all are added up. */
static ons_status *slice_gradient(ons_gradient *g) {
    const ons_type *whole = &g->operands->inputs[0];
    ons_value_id inputs[6] = {g->cotangents[0]};
    for (uint32_t i = 1; i < 5; ++i) inputs[i] = ons_gradient_input(g, i);
    inputs[5] = whole->dtype == ONS_FLOAT32 ? ons_gradient_take_flow(g, 0) : ONS_NONE;
    g->gradients[0] = ons_build(g->builder, &ons_op_slice_gradient, (ons_inputs){inputs, inputs[5] == ONS_NONE ? 5 : 6},
                                ONS_WITH(ONS_AT_INTS(0, whole->shape.rank, whole->shape.dims)));
    return NULL;
}

static ons_status *slice_upgrade(ons_upgrade *u) {
    ONS_TRY(ons_upgrade_attribute_to_input(u, "starts", 1, ONS_INT64));
    ONS_TRY(ons_upgrade_attribute_to_input(u, "ends", 2, ONS_INT64));
    return ons_upgrade_attribute_to_input(u, "axes", 3, ONS_INT64);
}

ONS_DEFINE_OPERATOR(slice, "Slice", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 5, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(slice_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(slice_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_MOVING_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_keep_first),
                    ONS_FORMS(slice_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(slice_reference));
