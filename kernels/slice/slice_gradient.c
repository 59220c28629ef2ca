/* The gradient of Slice: the cotangent in its places in a tensor of zeros. Inputs: the cotangent, then Slice's starts,
 * ends, axes and steps, and a tensor to add to instead of zeros (float32); the attribute is the shape of what was
 * sliced. */
#include "kernels/slice/slicing.h"

#include "kernels/common/layout/layouts.h"

enum { SHAPE };
enum { ADDED = ONS_SLICE_GRADIENT_ADDED };

static ons_status *slice_gradient_infer(ons_operands *o) {
    if (o->attributes[SHAPE].count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", o->attributes[SHAPE].count);
    ons_shape shape = ons_shape_make(o->attributes[SHAPE].count, o->attributes[SHAPE].ints);
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &shape, &slicing));
    if (!ons_shape_equal(&slicing.result, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the slice");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    if (!ons_has_input(o, ADDED)) return NULL;
    if (!ons_type_equal(&o->inputs[ADDED], &o->outputs[0]))
        return ons_node_error(o, "what is added to does not have the type of what was sliced");
    if (o->outputs[0].dtype != ONS_FLOAT32) return ons_node_error(o, "only float32 is added to");
    return NULL;
}

/* What is added to is so in its place: the slice is read there, the cotangent is read, and the slice is written. */
static ons_cost slice_gradient_cost(const ons_operands *o) {
    if (!ons_has_input(o, ADDED)) return ons_cost_copy(o);
    return (ons_cost){(double)ons_elements(&o->inputs[0]), 3 * (double)ons_type_dense_bytes(&o->inputs[0])};
}

static void slice_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_slicing slicing = {0};
    ons_resolved(ons_slicing_of(o, &o->outputs[0].shape, &slicing));
    size_t bytes = (size_t)ons_elements(&o->outputs[0]) * 8;
    if (ons_has_input(o, ADDED))
        memcpy(outputs[0], inputs[ADDED], bytes);
    else
        memset(outputs[0], 0, bytes);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        int64_t at = ons_slicing_source(&slicing, &o->outputs[0].shape, i);
        if (ons_has_input(o, ADDED))
            ((double *)outputs[0])[at] += ((const double *)inputs[0])[i];
        else
            ons_copy_word(outputs[0], at, inputs[0], i);
    }
}

static ons_status *slice_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    bool last = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ||
                (ons_has_input(o, ADDED) && o->inputs[ADDED].layout == ONS_LAYOUT_CHANNELS_LAST);
    inputs[0] = outputs[0] = last ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    if (ons_has_input(o, ADDED)) inputs[ADDED] = outputs[0];
    return NULL;
}

ONS_DEFINE_OPERATOR(slice_gradient, "SliceGradient", ONS_INTERNAL, ONS_ARITY(3, 6, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(slice_gradient_infer), ONS_COST(slice_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, ADDED}), ONS_CHOOSES_LAYOUT(slice_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(slice_gradient_reference));
