/* The gradient of LpPool's input, from the output's gradient, x and the output y:
 *   dx = sign(x) |x|^(p-1) × Σ dy ÷ y^(p-1) over the windows that hold it. */
#include <string.h>

#include "kernels/common/cuda_pooling.h"
#include "kernels/common/lp.h"
#include "kernels/common/pooling.h"

enum { P = ONS_POOLING_STORAGE_ORDER + 1 };

static ons_status *resolve(const ons_operands *o, ons_pooling *pooling, int *p) {
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, p));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[1], pooling));
    if (!ons_shape_equal(&pooling->y.shape, &o->inputs[0].shape) ||
        !ons_shape_equal(&pooling->y.shape, &o->inputs[2].shape))
        return ons_node_error(o, "the gradient does not have the shape of the pooling's output");
    return NULL;
}

static ons_status *lp_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    int p;
    ONS_TRY(resolve(o, &pooling, &p));
    o->outputs[0] = ons_type_make(o->inputs[1].dtype, pooling.x.shape);
    return NULL;
}

static ons_cost lp_pool_gradient_cost(const ons_operands *o) {
    ons_pooling pooling;
    int p;
    ons_status_free(resolve(o, &pooling, &p));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void lp_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    int p = 2;
    ons_status_free(resolve(o, &pooling, &p));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i)
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (!ons_window_position(w, i % count, tap, &at)) continue;
            at += i / count * ons_window_inputs(w);
            dx[at] += dy[i] * ons_lp_share_exact(y[i], p) * ons_lp_slope_exact(x[at], p);
        }
}

typedef struct state {
    ons_pooling_plan plan;
    int p;
} state;

static ons_status *lp_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    int order;
    ONS_TRY(resolve(o, &pooling, &order));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->p = order;
    p->scratch_bytes = (ons_elements(&pooling.y) * (int64_t)sizeof(float) + 63) / 64 * 64;
    return ons_pooling_plan_make(p, &pooling, o->inputs[1].layout, false, &s->plan);
}

static void lp_pool_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const ons_pooling_plan *plan = &s->plan;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0], *shares = launch->scratch;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
    int64_t length = plan->window.input[2] * plan->width, windows = plan->planes * plan->outputs * plan->width;
    int p = s->p;
    if (p > 1) {
#pragma omp parallel for simd schedule(static) if (plan->parallel)
        for (int64_t i = 0; i < windows; ++i) shares[i] = dy[i] * ons_lp_share(y[i], p);
    }
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i) {
        ons_pooling_collect_row(plan, i / rows, i % rows / columns, i % columns, p > 1 ? shares : dy, dx);
        for (int64_t k = i * length; k < (i + 1) * length; ++k) dx[k] *= ons_lp_slope(x[k], p);
    }
}

static ons_status *lp_pool_gradient_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    int order;
    ONS_TRY(resolve(p->operands, &pooling, &order));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    s->p = order;
    return NULL;
}

static const ons_case lp_pool_gradient_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 3, 4), ONS_F32(2, 3, 6, 8), ONS_F32_IN(0.5, 2, 2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "overlap",
     .inputs = {ONS_F32(2, 17, 4, 5), ONS_F32(2, 17, 7, 9), ONS_F32_IN(0.5, 2, 2, 17, 4, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 6120},
    {.name = "order_1",
     .inputs = {ONS_F32(1, 3, 5, 7), ONS_F32(1, 3, 7, 9), ONS_F32(1, 3, 5, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 945},
    {.name = "order_3_of_nothing",
     .inputs = {ONS_F32(1, 3, 4), ONS_F32_IN(0, 0, 1, 3, 5), ONS_F32_IN(0, 0, 1, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2), ONS_SET_INT("p", 3)},
     .flops = 24},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(16, 64, 112, 112), ONS_F32_IN(0.5, 2, 16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lp_pool_gradient, "LpPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES, ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_pool_gradient_infer), ONS_COST(lp_pool_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(lp_pool_gradient_reference),
                    ONS_CPU_KERNEL(lp_pool_gradient_prepare, lp_pool_gradient_run),
                    ONS_CUDA_KERNEL(lp_pool_gradient_prepare_cuda, ons_cuda_lp_pool_gradient), lp_pool_gradient_cases);
