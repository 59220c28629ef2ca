/* The gradient of Slice: the cotangent in its places in a tensor of zeros. Inputs: the cotangent, then Slice's starts,
 * ends, axes and steps; the attribute is the shape of what was sliced. */
#include "kernels/slice/slicing.h"

enum { SHAPE };

static ons_status *slice_gradient_infer(ons_operands *o) {
    if (o->attributes[SHAPE].count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", o->attributes[SHAPE].count);
    ons_shape shape = ons_shape_make(o->attributes[SHAPE].count, o->attributes[SHAPE].ints);
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &shape, &slicing));
    if (!ons_shape_equal(&slicing.result, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the slice");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

static void slice_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_slicing slicing = {0};
    ons_resolved(ons_slicing_of(o, &o->outputs[0].shape, &slicing));
    memset(outputs[0], 0, (size_t)ons_elements(&o->outputs[0]) * 8);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        ons_copy_word(outputs[0], ons_slicing_source(&slicing, &o->outputs[0].shape, i), inputs[0], i);
}

ONS_DEFINE_OPERATOR(slice_gradient, "SliceGradient", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(slice_gradient_infer), ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(slice_gradient_reference));
