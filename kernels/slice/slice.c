/* Slice: along each given axis the elements start, start + step, … before end. */
#include "graph/upgrade.h"
#include "kernels/common/slicing.h"

static ons_status *slice_infer(ons_operands *o) {
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &o->inputs[0].shape, &slicing));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, slicing.result);
    return NULL;
}

static void slice_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_slicing slicing = {0};
    ons_status_free(ons_slicing_of(o, &o->inputs[0].shape, &slicing)); /* has passed inference */
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        ons_copy_word(outputs[0], i, inputs[0], ons_slicing_source(&slicing, &o->inputs[0].shape, i));
}

static ons_status *slice_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &o->inputs[0].shape, &slicing));
    ons_strided copy = ons_slicing_copy(&slicing, o->inputs[0].dtype, &o->inputs[0].shape, false);
    return ons_strided_prepare(p, &copy);
}

static ons_status *slice_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[0].shape;
    g->gradients[0] = ons_build(g->builder, &ons_op_slice_gradient,
                                ONS_IN(g->cotangents[0], ons_gradient_input(g, 1), ons_gradient_input(g, 2),
                                       ons_gradient_input(g, 3), ons_gradient_input(g, 4)),
                                ONS_WITH(ONS_AT_INTS(0, shape->rank, shape->dims)));
    return NULL;
}

static ons_status *slice_upgrade(ons_upgrade *u) {
    ONS_TRY(ons_upgrade_attribute_to_input(u, "starts", 1, ONS_INT64));
    ONS_TRY(ons_upgrade_attribute_to_input(u, "ends", 2, ONS_INT64));
    return ons_upgrade_attribute_to_input(u, "axes", 3, ONS_INT64);
}

static const ons_case slice_cases[] = {
    {.name = "front", .inputs = {ONS_F32(5, 7), ONS_I64(1, 2), ONS_I64(4, 6)}},
    {.name = "axis", .inputs = {ONS_F32(2, 9, 3), ONS_I64(3), ONS_I64(9), ONS_I64(-2)}},
    {.name = "to_the_end", .inputs = {ONS_F32(2, 9), ONS_I64(2), ONS_I64(INT64_MAX), ONS_I64(1), ONS_I64(2)}},
    {.name = "backwards", .inputs = {ONS_F32(4, 5), ONS_I64(-1), ONS_I64(INT64_MIN + 1), ONS_I64(1), ONS_I64(-1)}},
    {.name = "backwards_by_two", .inputs = {ONS_F32(9, 3), ONS_I64(100), ONS_I64(1), ONS_I64(0), ONS_I64(-2)}},
    {.name = "negative", .inputs = {ONS_F32(6, 3), ONS_I64(-4), ONS_I64(-1), ONS_I64(0)}},
    {.name = "nothing", .inputs = {ONS_F32(6, 3), ONS_I64(4), ONS_I64(2), ONS_I64(0)}},
    {.name = "everything", .inputs = {ONS_F32(6, 3), ONS_I64(0), ONS_I64(6), ONS_I64(0)}},
    {.name = "int32",
     .inputs = {ONS_F32(6, 3),
                {.dtype = ONS_INT32, .shape = {1, {1}}, .value_count = 1, .values = {2}, .constant = true},
                {.dtype = ONS_INT32, .shape = {1, {1}}, .value_count = 1, .values = {5}, .constant = true}}},
    {.name = "threads", .inputs = {ONS_F32(60, 700), ONS_I64(100), ONS_I64(600), ONS_I64(1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_I64(-2), ONS_I64(INT64_MAX), ONS_I64(0)}},
    {.name = "zero_step", .inputs = {ONS_F32(6), ONS_I64(0), ONS_I64(2), ONS_I64(0), ONS_I64(0)}, .error = "step of 0"},
    {.name = "twice", .inputs = {ONS_F32(6, 3), ONS_I64(0, 0), ONS_I64(2, 2), ONS_I64(0, -2)}, .error = "sliced twice"},
    {.name = "large", .inputs = {ONS_F32(16, 256, 2304), ONS_I64(768), ONS_I64(1536), ONS_I64(2)}, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(slice, "Slice", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 5, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(slice_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(slice_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_MOVING_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(slice_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(slice_reference), ONS_CPU_KERNEL(slice_prepare, ons_strided_run),
                    ONS_CUDA_KERNEL(slice_prepare, ons_cuda_slice), slice_cases);
