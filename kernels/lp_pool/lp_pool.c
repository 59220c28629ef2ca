/* LpPool: the p-norm of a window, (Σ |x|^p)^(1/p); padding adds nothing. */
#include "kernels/common/cuda_pooling.h"
#include "kernels/common/lp.h"
#include "kernels/common/pooling.h"
#include "kernels/common/pooling_lanes.h"

enum { P = ONS_POOLING_STORAGE_ORDER + 1 };

static ons_status *resolve(const ons_operands *o, ons_pooling *pooling, int *p) {
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, p));
    return ons_pooling_resolve(o, &o->inputs[0], pooling);
}

static ons_status *lp_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    int p;
    ONS_TRY(resolve(o, &pooling, &p));
    o->outputs[0] = pooling.y;
    return NULL;
}

static ons_cost lp_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    int p;
    ons_status_free(resolve(o, &pooling, &p));
    return (ons_cost){2 * (double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void lp_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    int p = 2;
    ons_status_free(resolve(o, &pooling, &p));
    const ons_window *w = &pooling.window;
    const double *x = inputs[0];
    double *y = outputs[0];
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        double sum = 0;
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at))
                sum += pow(fabs(x[i / count * ons_window_inputs(w) + at]), p);
        }
        y[i] = pow(sum, 1.0 / p);
    }
}

typedef struct lp_pool_state {
    ons_pooling_plan plan;
    int p;
} lp_pool_state;

static ons_status *lp_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    int order;
    ONS_TRY(resolve(o, &pooling, &order));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(lp_pool_state), &memory));
    lp_pool_state *state = memory;
    state->p = order;
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, false, &state->plan);
}

/* `count` channels of one window; they are added up before the root is taken, so that p = 2, the usual one, has nothing
 * but vector code. */
static inline __attribute__((always_inline)) void pool_window(const lp_pool_state *s, const ons_pooling_span *z,
                                                              const ons_pooling_span *y, const ons_pooling_span *x,
                                                              const float *plane, int count, float *to) {
    const ons_pooling_plan *plan = &s->plan;
    ons_lanes sum = {0};
    if (s->p == 2) {
        ONS_FOR_TAPS(plan, z, y, x, {
            ons_lanes value = ons_take(plane + at * plan->width, count);
            sum += value * value;
        });
    } else {
        ONS_FOR_TAPS(plan, z, y, x, {
            ons_lanes value = ons_take(plane + at * plan->width, count);
            for (int i = 0; i < ONS_LANES; ++i) sum[i] += ons_lp_term(value[i], s->p);
        });
    }
    for (int i = 0; i < ONS_LANES; ++i) sum[i] = ons_lp_root(sum[i], s->p);
    ons_put(to, sum, count);
}

static float pool_single(const lp_pool_state *s, const ons_pooling_span *z, const ons_pooling_span *y,
                         const ons_pooling_span *x, const float *plane) {
    float sum = 0;
    ONS_FOR_TAPS(&s->plan, z, y, x, sum += ons_lp_term(plane[at], s->p));
    return ons_lp_root(sum, s->p);
}

/* One row of windows of one plane. */
static void pool_row(const lp_pool_state *s, int64_t plane, int64_t oz, int64_t oy, const float *x, float *y) {
    const ons_pooling_plan *plan = &s->plan;
    const ons_window *w = &plan->window;
    const ons_pooling_span *spans[] = {&plan->spans[0][oz], &plan->spans[1][oy], plan->spans[2]};
    int64_t width = plan->width;
    const float *from = x + plane * plan->inputs * width;
    float *to = y + (plane * plan->outputs + (oz * w->output[1] + oy) * w->output[2]) * width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox, ++spans[2], to += width) {
        if (width == 1) {
            *to = pool_single(s, spans[0], spans[1], spans[2], from);
            continue;
        }
        int64_t c = 0;
        for (; c + ONS_LANES <= width; c += ONS_LANES)
            pool_window(s, spans[0], spans[1], spans[2], from + c, ONS_LANES, to + c);
        if (c < width) pool_window(s, spans[0], spans[1], spans[2], from + c, (int)(width - c), to + c);
    }
}

static void lp_pool_run(const ons_launch *launch) {
    const lp_pool_state *s = launch->state;
    const ons_pooling_plan *plan = &s->plan;
    int64_t columns = plan->window.output[1], rows = plan->window.output[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        pool_row(s, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

static ons_status *lp_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ons_window_settings s;
    int p;
    ONS_TRY(resolve(g->operands, &pooling, &p));
    ons_window_get_settings(&pooling.window, &pooling.x.shape, &s);
    g->gradients[0] =
        ons_build(g->builder, &ons_op_lp_pool_gradient,
                  ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)),
                  ONS_WITH(ONS_WINDOW_WITH(&pooling.window, &s),
                           ONS_AT_INT(ONS_POOLING_CEIL_MODE, ons_attribute_int(g->operands, ONS_POOLING_CEIL_MODE)),
                           ONS_AT_INT(P, p)));
    return NULL;
}

static ons_status *lp_pool_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    int order;
    ONS_TRY(resolve(p->operands, &pooling, &order));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    s->p = order;
    return NULL;
}

static const ons_case lp_pool_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 6, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 576},
    {.name = "overlap",
     .inputs = {ONS_F32(2, 17, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-6,
     .flops = 12240},
    {.name = "order_1",
     .inputs = {ONS_F32(1, 3, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 1890},
    {.name = "order_3",
     .inputs = {ONS_F32_IN(0.1, 1, 1, 18, 5, 6)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 2), ONS_SET_INT("p", 3)},
     .tolerance = 1e-6,
     .flops = 3240},
    {.name = "ceil",
     .inputs = {ONS_F32(1, 2, 6, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INT("ceil_mode", 1)},
     .tolerance = 1e-6,
     .flops = 324},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 8, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 3), ONS_SET_INTS("dilations", 3, 2),
                  ONS_SET_INTS("pads", 1, 0, 2, 3)},
     .tolerance = 1e-6,
     .flops = 1536},
    {.name = "same_lower",
     .inputs = {ONS_F32(1, 2, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_STRING("auto_pad", "SAME_LOWER")},
     .tolerance = 1e-6,
     .flops = 400},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 11)},
     .settings = {ONS_SET_INTS("kernel_shape", 3)},
     .tolerance = 1e-6,
     .flops = 324},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 4, 5, 6)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2, 3)},
     .tolerance = 1e-6,
     .flops = 2304},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 6, 8)}, .settings = {ONS_SET_INTS("kernel_shape", 2, 2)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 112, 112)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 25690112,
     .benchmark = true},
    {.name = "order_0",
     .inputs = {ONS_F32(2, 3, 6, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INT("p", 0)},
     .error = "p is 0"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lp_pool, "LpPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES, ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(lp_pool_infer),
                    ONS_COST(lp_pool_cost), ONS_GRADIENT_RULE(lp_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_FORMS(ons_lp_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(lp_pool_reference), ONS_CPU_KERNEL(lp_pool_prepare, lp_pool_run),
                    ONS_CUDA_KERNEL(lp_pool_prepare_cuda, ons_cuda_lp_pool), lp_pool_cases);
