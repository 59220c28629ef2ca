/* ChannelSum: the sum of (N, C, spatial…) over all but its channels: the gradient of a bias. */
#include "kernels/common/batch_statistics.h"
#include "kernels/common/cuda_reduction.h"

static ons_status *channel_sum_infer(ons_operands *o) {
    const ons_type *x = &o->inputs[0];
    if (x->shape.rank < 2 || !ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "the input needs floats with batch and channels");
    o->outputs[0] = ons_type_make(x->dtype, (ons_shape){.rank = 1, .dims = {x->shape.dims[1]}});
    return NULL;
}

static ons_cost channel_sum_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *channel_sum_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    inputs[0] = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

static void channel_sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)step;
    ons_channels size = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t c = 0; c < size.channels; ++c) y[c] = 0;
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]); i < count; ++i)
        y[i / size.positions % size.channels] += x[i];
}

static ons_status *channel_sum_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *plan;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_batch_plan), &plan));
    return ons_batch_plan_make(p, &p->operands->inputs[0], plan);
}

static void channel_sum_run(const ons_launch *launch) {
    const ons_batch_plan *plan = launch->state;
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    float *y = launch->outputs[0];
    for (int64_t i = 0; i < plan->width; ++i) s.shift[i] = 0;
    ons_batch_sum_squares(plan, &s, launch->inputs[0]);
    for (int64_t c = 0; c < plan->size.channels; ++c) y[c] = (float)s.sums[0][c];
}

static ons_status *channel_sum_cuda_prepare(ons_prepare *p) {
    bool reduced[ONS_RANK_MAX];
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) reduced[i] = i != 1;
    return ons_cuda_reduction_over(p, reduced);
}

static const ons_case channel_sum_cases[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 3, 4)}, .tolerance = 1e-6, .flops = 120},
    {.name = "matrix", .inputs = {ONS_F32(9, 6)}, .tolerance = 1e-6, .flops = 54},
    {.name = "one_dim", .inputs = {ONS_F32(3, 4, 7)}, .tolerance = 1e-6, .flops = 84},
    {.name = "threads", .inputs = {ONS_F32(4, 33, 17, 19)}, .tolerance = 1e-5, .flops = 42636},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 64, 56, 56)}, .tolerance = 1e-5, .flops = 3211264, .benchmark = true},
    {.name = "vector", .inputs = {ONS_F32(3)}, .error = "channels"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(channel_sum, "ChannelSum", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(channel_sum_infer), ONS_COST(channel_sum_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself part of a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(channel_sum_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(channel_sum_reference), ONS_CPU_KERNEL(channel_sum_prepare, channel_sum_run),
                    ONS_CUDA_KERNEL(channel_sum_cuda_prepare, ons_cuda_channel_sum), channel_sum_cases);
