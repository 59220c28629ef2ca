/* The gradient of MaxPool's input: from the output's gradient and the saved position of each maximum in its window.
 * Each row of the input collects from the windows that hold it, so that threads never write to the same place. */
#include <string.h>

#include "kernels/common/cuda_pooling.h"
#include "kernels/common/pooling.h"
#include "kernels/common/pooling_lanes.h"

static ons_status *max_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    if (o->inputs[1].dtype != pooling.position || !ons_shape_equal(&o->inputs[1].shape, &pooling.y.shape))
        return ons_node_error(o, "the saved positions do not fit the window");
    o->outputs[0] = pooling.x;
    return NULL;
}

static ons_cost max_pool_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void max_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0];
    const int64_t *positions = inputs[1];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        int64_t at;
        if (ons_window_position(w, i % count, positions[i], &at)) dx[i / count * ons_window_inputs(w) + at] += dy[i];
    }
}

static ons_status *max_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    void *plan;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_pooling_plan), &plan));
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, false, plan);
}

/* One row of windows into one row of the input, which lies at `to`; `row` is the number of its first window, `taps`
 * that of the first tap that falls into the input row. `count` channels from `c` on. */
static inline __attribute__((always_inline)) void add_channels(const ons_pooling_plan *plan, int64_t row, int32_t taps,
                                                               const float *dy, const void *positions, int64_t c,
                                                               int count, float *to) {
    const ons_window *w = &plan->window;
    int64_t width = plan->width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        int64_t from = (row + ox) * width + c;
        ons_lanes value = ons_take(dy + from, count);
        ons_int_lanes position = plan->wide_position ? ons_take_ints((const int32_t *)positions + from, count)
                                                     : ons_take_bytes((const uint8_t *)positions + from, count);
        for (int32_t kx = span->first; kx < span->end; ++kx) {
            float *at = to + (span->start + kx * w->dilation[2]) * width + c;
            ons_lanes brought = ons_where_equal(position, taps + kx, value);
            ons_put(at, plan->overlap ? ons_take(at, count) + brought : brought, count);
        }
    }
}

/* The same in ONNX's order, where the position says at once where the value goes. */
static void add_single(const ons_pooling_plan *plan, int64_t row, int32_t taps, const float *dy, const void *positions,
                       float *to) {
    const ons_window *w = &plan->window;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        int32_t position =
            plan->wide_position ? ((const int32_t *)positions)[row + ox] : ((const uint8_t *)positions)[row + ox];
        int32_t kx = position - taps;
        if (kx >= span->first && kx < span->end) to[span->start + kx * w->dilation[2]] += dy[row + ox];
    }
}

/* Row (z, y) of a plane's input: zero, and what the windows that hold it bring, row of windows by row. */
static void make_row(const ons_pooling_plan *plan, int64_t plane, int64_t z, int64_t y, const float *dy,
                     const void *positions, float *dx) {
    const ons_window *w = &plan->window;
    const ons_pooling_cover *planes = &plan->covers[0][z], *rows = &plan->covers[1][y];
    int64_t width = plan->width;
    float *to = dx + ((plane * w->input[0] + z) * w->input[1] + y) * w->input[2] * width;
    memset(to, 0, (size_t)(w->input[2] * width) * sizeof *to);
    for (int64_t oz = planes->first; oz <= planes->last; ++oz)
        for (int64_t oy = rows->first; oy <= rows->last; ++oy) {
            int32_t kz = ons_pooling_tap(w, 0, z, oz), ky = ons_pooling_tap(w, 1, y, oy);
            if (kz < 0 || ky < 0) continue;
            int64_t row = plane * plan->outputs + (oz * w->output[1] + oy) * w->output[2], c = 0;
            int32_t taps = (int32_t)((kz * w->kernel[1] + ky) * w->kernel[2]);
            if (width == 1) {
                add_single(plan, row, taps, dy, positions, to);
                continue;
            }
            for (; c + ONS_LANES <= width; c += ONS_LANES)
                add_channels(plan, row, taps, dy, positions, c, ONS_LANES, to);
            if (c < width) add_channels(plan, row, taps, dy, positions, c, (int)(width - c), to);
        }
}

static void max_pool_gradient_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        make_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->inputs[1],
                 launch->outputs[0]);
}

static ons_status *max_pool_gradient_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve_gradient(p->operands, &p->operands->inputs[0], &pooling));
    return ons_cuda_pooling_prepare(p, &pooling, &s);
}

static const ons_case max_pool_gradient_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 3, 4), ONS_RANDOM(ONS_UINT8, 0, 3, 2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2),
                  ONS_SET_INTS("input_shape", 2, 3, 6, 8)},
     .tolerance = 1e-6,
     .flops = 72,
     .no_gradient = true},
    {.name = "overlap",
     .inputs = {ONS_F32(2, 17, 5, 7), ONS_RANDOM(ONS_UINT8, 0, 8, 2, 17, 5, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("input_shape", 2, 17, 7, 9)},
     .tolerance = 1e-6,
     .flops = 1190,
     .no_gradient = true},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 8, 8), ONS_RANDOM(ONS_UINT8, 2, 2, 1, 2, 8, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 3), ONS_SET_INTS("dilations", 3, 2), ONS_SET_INTS("pads", 1, 0, 2, 3),
                  ONS_SET_INTS("input_shape", 1, 2, 8, 9)},
     .tolerance = 1e-6,
     .flops = 128,
     .no_gradient = true},
    {.name = "wide_window",
     .inputs = {ONS_F32(1, 2, 4, 4), ONS_RANDOM(ONS_INT32, 0, 288, 1, 2, 4, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 17, 17), ONS_SET_INTS("input_shape", 1, 2, 20, 20)},
     .tolerance = 1e-6,
     .flops = 32,
     .no_gradient = true},
    {.name = "resnet",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_RANDOM(ONS_UINT8, 4, 8, 16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("input_shape", 16, 64, 112, 112)},
     .tolerance = 1e-6,
     .flops = 3211264,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(max_pool_gradient, "MaxPoolGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_GRADIENT_ATTRIBUTES), ONS_INFER(max_pool_gradient_infer),
                    ONS_COST(max_pool_gradient_cost), ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(max_pool_gradient_reference),
                    ONS_CPU_KERNEL(max_pool_gradient_prepare, max_pool_gradient_run),
                    ONS_CUDA_KERNEL(max_pool_gradient_prepare_cuda, ons_cuda_max_pool_gradient),
                    max_pool_gradient_cases);
