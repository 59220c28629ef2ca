/* AveragePool: the mean over a window; padding counts where count_include_pad says so. */
#include "kernels/common/cuda_pooling.h"
#include "kernels/common/pooling.h"
#include "kernels/common/pooling_lanes.h"

static ons_status *average_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    o->outputs[0] = pooling.y;
    return NULL;
}

static ons_cost average_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void average_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *x = inputs[0];
    double *y = outputs[0];
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        double sum = 0;
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at)) sum += x[i / count * ons_window_inputs(w) + at];
        }
        y[i] = sum / (double)ons_pooling_divisor_at(w, pooling.include_pad, i % count);
    }
}

static ons_status *average_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    void *plan;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_pooling_plan), &plan));
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, true, plan);
}

/* `count` channels of one window. Inlined with a constant count, nothing is left of its handling. */
static inline __attribute__((always_inline)) ons_lanes add_up(const ons_pooling_plan *plan, const ons_pooling_span *z,
                                                              const ons_pooling_span *y, const ons_pooling_span *x,
                                                              const float *plane, int count) {
    ons_lanes sum = {0};
    ONS_FOR_TAPS(plan, z, y, x, sum += ons_take(plane + at * plan->width, count));
    return sum;
}

static float add_up_single(const ons_pooling_plan *plan, const ons_pooling_span *z, const ons_pooling_span *y,
                           const ons_pooling_span *x, const float *plane) {
    float sum = 0;
    ONS_FOR_TAPS(plan, z, y, x, sum += plane[at]);
    return sum;
}

/* One row of windows of one plane. */
static void pool_row(const ons_pooling_plan *plan, int64_t plane, int64_t oz, int64_t oy, const float *x, float *y) {
    const ons_window *w = &plan->window;
    const ons_pooling_span *spans[] = {&plan->spans[0][oz], &plan->spans[1][oy], plan->spans[2]};
    int64_t width = plan->width, row = (oz * w->output[1] + oy) * w->output[2];
    const float *from = x + plane * plan->inputs * width, *scale = plan->scales + row;
    float *to = y + (plane * plan->outputs + row) * width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox, ++scale, ++spans[2], to += width) {
        if (width == 1) {
            *to = *scale * add_up_single(plan, spans[0], spans[1], spans[2], from);
            continue;
        }
        int64_t c = 0;
        for (; c + ONS_LANES <= width; c += ONS_LANES)
            ons_lanes_store(to + c, *scale * add_up(plan, spans[0], spans[1], spans[2], from + c, ONS_LANES));
        int rest = (int)(width - c);
        if (rest > 0) ons_put(to + c, *scale * add_up(plan, spans[0], spans[1], spans[2], from + c, rest), rest);
    }
}

static void average_pool_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.output[1], rows = plan->window.output[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        pool_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

static ons_status *average_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve(g->operands, &g->operands->inputs[0], &pooling));
    g->gradients[0] = ons_pooling_build_gradient(g, &ons_op_average_pool_gradient, &pooling, ONS_IN(g->cotangents[0]));
    return NULL;
}

static ons_status *average_pool_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve(p->operands, &p->operands->inputs[0], &pooling));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    ons_dnn_pooling mode = s->include_pad ? ONS_DNN_POOL_AVERAGE_ALL : ONS_DNN_POOL_AVERAGE_INSIDE;
    return ons_cuda_pooling_plan(p, &pooling, ONS_DNN_POOL, mode, s);
}

static const ons_case average_pool_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 6, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "exclude_pad",
     .inputs = {ONS_F32(2, 17, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-6,
     .flops = 6120},
    {.name = "include_pad",
     .inputs = {ONS_F32(1, 3, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 0, 1, 1, 0),
                  ONS_SET_INT("count_include_pad", 1)},
     .tolerance = 1e-6,
     .flops = 324},
    {.name = "ceil",
     .inputs = {ONS_F32(1, 2, 6, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INT("ceil_mode", 1),
                  ONS_SET_INT("count_include_pad", 1)},
     .tolerance = 1e-6,
     .flops = 162},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 8, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 3), ONS_SET_INTS("dilations", 3, 2),
                  ONS_SET_INTS("pads", 1, 0, 2, 3)},
     .tolerance = 1e-6,
     .flops = 768},
    {.name = "same_lower",
     .inputs = {ONS_F32(1, 2, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_STRING("auto_pad", "SAME_LOWER")},
     .tolerance = 1e-6,
     .flops = 200},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 11)},
     .settings = {ONS_SET_INTS("kernel_shape", 3)},
     .tolerance = 1e-6,
     .flops = 162},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 4, 5, 6)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2, 3)},
     .tolerance = 1e-6,
     .flops = 1152},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 6, 8)}, .settings = {ONS_SET_INTS("kernel_shape", 2, 2)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 112, 112)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(average_pool, "AveragePool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES), ONS_INFER(average_pool_infer), ONS_COST(average_pool_cost),
                    ONS_GRADIENT_RULE(average_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(average_pool_reference), ONS_CPU_KERNEL(average_pool_prepare, average_pool_run),
                    ONS_CUDA_KERNEL(average_pool_prepare_cuda, ons_cuda_average_pool), average_pool_cases);
