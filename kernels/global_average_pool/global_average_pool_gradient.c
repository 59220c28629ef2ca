/* The gradient of GlobalAveragePool's input: every position gets an equal share. */
#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/window.h"

enum { INPUT_SHAPE };

static ons_status *global_average_pool_gradient_infer(ons_operands *o) {
    ons_shape shape;
    ONS_TRY(ons_window_shape_attribute(o, INPUT_SHAPE, &shape));
    const ons_shape *dy = &o->inputs[0].shape;
    if (shape.rank != dy->rank || shape.rank < 2 || shape.dims[0] != dy->dims[0] || shape.dims[1] != dy->dims[1])
        return ons_node_error(o, "the gradient does not fit input_shape");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

/* A pooled picture nearly always comes from convolutions: channels last. The input has one position: either is ONNX's.
 */
static ons_status *global_average_pool_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    const ons_shape *shape = &o->outputs[0].shape;
    inputs[0] = ONS_LAYOUT_ONNX;
    outputs[0] =
        shape->rank >= 3 && shape->rank <= 5 && !ons_layout_same_bytes(shape, ONS_LAYOUT_ONNX, ONS_LAYOUT_CHANNELS_LAST)
            ? ONS_LAYOUT_CHANNELS_LAST
            : ONS_LAYOUT_ONNX;
    return NULL;
}

static void global_average_pool_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    ons_channels c = ons_channels_of(&o->outputs[0]);
    const double *dy = inputs[0];
    double *dx = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels * c.positions; ++i) dx[i] = dy[i / c.positions] / (double)c.positions;
}

ONS_DEFINE_OPERATOR(global_average_pool_gradient, "GlobalAveragePoolGradient", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(global_average_pool_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(global_average_pool_gradient_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(global_average_pool_gradient_reference));
