/* The gradient of AveragePool's input: each row collects its share of the windows that hold it. */
#include <string.h>

#include "kernels/common/cuda_pooling.h"
#include "kernels/common/pooling.h"

static ons_status *average_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    o->outputs[0] = pooling.x;
    return NULL;
}

static ons_cost average_pool_gradient_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void average_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                            void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i)
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at))
                dx[i / count * ons_window_inputs(w) + at] +=
                    dy[i] / (double)ons_pooling_divisor_at(w, pooling.include_pad, i % count);
        }
}

static ons_status *average_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    void *plan;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_pooling_plan), &plan));
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, true, plan);
}

static void average_pool_gradient_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        ons_pooling_collect_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

static ons_status *average_pool_gradient_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve_gradient(p->operands, &p->operands->inputs[0], &pooling));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    ons_dnn_pooling mode = s->include_pad ? ONS_DNN_POOL_AVERAGE_ALL : ONS_DNN_POOL_AVERAGE_INSIDE;
    return ons_cuda_pooling_plan(p, &pooling, ONS_DNN_POOL_GRADIENT, mode, s);
}

static const ons_case average_pool_gradient_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2),
                  ONS_SET_INTS("input_shape", 2, 3, 6, 8)},
     .tolerance = 1e-6,
     .flops = 288,
     .no_gradient = true},
    {.name = "exclude_pad",
     .inputs = {ONS_F32(2, 17, 4, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("input_shape", 2, 17, 7, 9)},
     .tolerance = 1e-6,
     .flops = 6120,
     .no_gradient = true},
    {.name = "ceil",
     .inputs = {ONS_F32(1, 2, 3, 3)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INT("ceil_mode", 1),
                  ONS_SET_INT("count_include_pad", 1), ONS_SET_INTS("input_shape", 1, 2, 6, 7)},
     .tolerance = 1e-6,
     .flops = 162,
     .no_gradient = true},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 8, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 3), ONS_SET_INTS("dilations", 3, 2), ONS_SET_INTS("pads", 1, 0, 2, 3),
                  ONS_SET_INTS("input_shape", 1, 2, 8, 9)},
     .tolerance = 1e-6,
     .flops = 768,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2),
                  ONS_SET_INTS("input_shape", 16, 64, 112, 112)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(average_pool_gradient, "AveragePoolGradient", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_GRADIENT_ATTRIBUTES), ONS_INFER(average_pool_gradient_infer),
                    ONS_COST(average_pool_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(average_pool_gradient_reference),
                    ONS_CPU_KERNEL(average_pool_gradient_prepare, average_pool_gradient_run),
                    ONS_CUDA_KERNEL(average_pool_gradient_prepare_cuda, ons_cuda_average_pool_gradient),
                    average_pool_gradient_cases);
