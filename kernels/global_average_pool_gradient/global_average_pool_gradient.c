/* The gradient of GlobalAveragePool's input: every position gets an equal share. */
#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/window.h"

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
    (void)step;
    ons_channels c = ons_channels_of(&o->outputs[0]);
    const double *dy = inputs[0];
    double *dx = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels * c.positions; ++i) dx[i] = dy[i / c.positions] / (double)c.positions;
}

static ons_status *global_average_pool_gradient_prepare(ons_prepare *p) {
    const ons_type *dx = &p->operands->outputs[0];
    if (dx->dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(dx->dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_channels), &memory));
    *(ons_channels *)memory = ons_channels_of(dx);
    return NULL;
}

static void global_average_pool_gradient_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *dy = launch->inputs[0];
    float *dx = launch->outputs[0];
    float scale = 1.0f / (float)c->positions;
    /* Rows of equal values in ONNX's order; rows that repeat the sample's channels with channels last. */
    int64_t rows = c->last ? c->batch * c->positions : c->batch * c->channels;
    int64_t length = c->last ? c->channels : c->positions;
#pragma omp parallel for schedule(static) if (rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        float *restrict to = dx + i * length;
        if (c->last) {
            const float *restrict from = dy + i / c->positions * c->channels;
            for (int64_t k = 0; k < length; ++k) to[k] = from[k] * scale;
        } else {
            float share = dy[i] * scale;
            for (int64_t k = 0; k < length; ++k) to[k] = share;
        }
    }
}

static ons_status *global_average_pool_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed_as_it_lies(p, global_average_pool_gradient_prepare);
}

static const ons_case global_average_pool_gradient_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 5, 1, 1)},
     .settings = {ONS_SET_INTS("input_shape", 2, 5, 7, 3)},
     .tolerance = 1e-6,
     .flops = 210,
     .no_gradient = true},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 5, 1)},
     .settings = {ONS_SET_INTS("input_shape", 2, 5, 9)},
     .tolerance = 1e-6,
     .flops = 90,
     .no_gradient = true},
    {.name = "no_positions",
     .inputs = {ONS_F32(4, 3)},
     .settings = {ONS_SET_INTS("input_shape", 4, 3)},
     .tolerance = 1e-6,
     .flops = 12,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1)},
     .settings = {ONS_SET_INTS("input_shape", 16, 512, 14, 14)},
     .tolerance = 1e-6,
     .flops = 1605632,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_average_pool_gradient, "GlobalAveragePoolGradient", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(global_average_pool_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(global_average_pool_gradient_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(global_average_pool_gradient_reference),
                    ONS_CPU_KERNEL(global_average_pool_gradient_prepare, global_average_pool_gradient_run),
                    ONS_CUDA_KERNEL(global_average_pool_gradient_prepare_cuda, ons_cuda_global_average_pool_gradient),
                    global_average_pool_gradient_cases);
