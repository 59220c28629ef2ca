/* ChannelSum: the sum of (N, C, spatial…) over all but its channels: the gradient of a bias. */
#include "graph/operator.h"
#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/layouts.h"

static ons_status *channel_sum_infer(ons_operands *o) {
    const ons_type *x = &o->inputs[0];
    if (x->shape.rank < 2 || !ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "the input needs floats with batch and channels");
    o->outputs[0] = ons_type_make(x->dtype, (ons_shape){.rank = 1, .dims = {x->shape.dims[1]}});
    return NULL;
}

static ons_status *channel_sum_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    inputs[0] = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

static void channel_sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    ons_channels size = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t c = 0; c < size.channels; ++c) y[c] = 0;
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]); i < count; ++i)
        y[i / size.positions % size.channels] += x[i];
}

ONS_DEFINE_OPERATOR(channel_sum, "ChannelSum", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(channel_sum_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("it is itself part of a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(channel_sum_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(channel_sum_reference));
