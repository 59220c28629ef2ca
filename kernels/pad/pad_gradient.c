/* The gradient of Pad in the modes that continue the tensor: an element collects the cotangents of all places that show
 * it. Inputs: the cotangent, then Pad's pads and axes at their places; onstage_shape is what was padded. */
#include "kernels/pad/pad_gradient.h"

#include "kernels/common/layout/channels.h"
#include "kernels/pad/padding.h"

static ons_status *pad_gradient_infer(ons_operands *o) {
    ons_padding padding;
    ONS_TRY(padding_of(o, &padding));
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "a cotangent of type %s", ons_dtype_name(o->inputs[0].dtype));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, padding.input);
    return NULL;
}

/* An addition for each cotangent. */
static void pad_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_padding padding;
    ons_resolved(padding_of(o, &padding));
    const double *dy = inputs[0];
    double *dx = outputs[0];
    int64_t index[ONS_RANK_MAX];
    memset(dx, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *dx);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&padding.output, i, index);
        for (uint32_t axis = 0; axis < padding.output.rank; ++axis) {
            index[axis] = ons_padding_source(&padding, axis, index[axis]);
            inside &= index[axis] >= 0;
        }
        if (inside) dx[ons_ravel(&padding.input, index)] += dy[i];
    }
}

ONS_DEFINE_OPERATOR(pad_gradient, "PadGradient", ONS_INTERNAL, ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("mode", "constant"),
                                   ONS_REQUIRED_ATTRIBUTE("onstage_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(pad_gradient_infer), ONS_COST(ons_cost_each_input), ONS_NOT_DIFFERENTIABLE("a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_ONE_FORM, ONS_REFERENCE(pad_gradient_reference));
