/* The gradient of GlobalLpPool's input, from the output's gradient, x and the output y:
 *   dx = dy × sign(x) |x|^(p-1) ÷ y^(p-1). */
#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/lp.h"
#include "kernels/global_lp_pool/global_lp_pool.h"

enum { P };

static ons_status *global_lp_pool_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    int p;
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, &p));
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, &o->inputs[2].shape) ||
        o->inputs[0].shape.rank != x->rank || x->dims[0] != o->inputs[0].shape.dims[0] ||
        x->dims[1] != o->inputs[0].shape.dims[1])
        return ons_node_error(o, "gradient, input and output do not fit each other");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static void global_lp_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                              void *const *outputs) {
    (void)step;
    ons_channels c = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    int p = (int)ons_attribute_int(o, P);
    for (int64_t i = 0; i < c.batch * c.channels * c.positions; ++i)
        dx[i] = dy[i / c.positions] * ons_lp_slope_exact(x[i], p) * ons_lp_share_exact(y[i / c.positions], p);
}

static ons_status *global_lp_pool_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_global_lp_pool), &memory));
    ons_global_lp_pool *s = memory;
    s->size = ons_channels_of(&p->operands->inputs[1]);
    return ons_lp_order(p->operands, P, ONS_LP_MAX, &s->p);
}

static void global_lp_pool_gradient_run(const ons_launch *launch) {
    const ons_global_lp_pool *s = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0];
    int64_t planes = s->size.batch * s->size.channels, length = s->size.positions;
    int p = s->p;
#pragma omp parallel for schedule(static) if (planes * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        float share = dy[i] * ons_lp_share(y[i], p);
        const float *from = x + i * length;
        float *to = dx + i * length;
        if (p == 2)
            for (int64_t k = 0; k < length; ++k) to[k] = share * from[k];
        else
            for (int64_t k = 0; k < length; ++k) to[k] = share * ons_lp_slope(from[k], p);
    }
}

static ons_status *global_lp_pool_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, global_lp_pool_gradient_prepare);
}

static const ons_case global_lp_pool_gradient_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 5, 1, 1), ONS_F32(2, 5, 7, 3), ONS_F32_IN(0.5, 2, 2, 5, 1, 1)},
     .tolerance = 1e-6,
     .flops = 210},
    {.name = "order_1",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32(2, 5, 9), ONS_F32(2, 5, 1)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 90},
    {.name = "order_4",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32(2, 5, 9), ONS_F32_IN(0.5, 2, 2, 5, 1)},
     .settings = {ONS_SET_INT("p", 4)},
     .tolerance = 1e-5,
     .flops = 90},
    {.name = "nothing",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32_IN(0, 0, 2, 5, 9), ONS_F32_IN(0, 0, 2, 5, 1)},
     .flops = 90},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1), ONS_F32(16, 512, 14, 14), ONS_F32_IN(0.5, 2, 16, 512, 1, 1)},
     .tolerance = 1e-6,
     .flops = 1605632,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_lp_pool_gradient, "GlobalLpPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(global_lp_pool_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(global_lp_pool_gradient_reference),
                    ONS_CPU_KERNEL(global_lp_pool_gradient_prepare, global_lp_pool_gradient_run),
                    ONS_CUDA_KERNEL(global_lp_pool_gradient_prepare_cuda, ons_cuda_global_lp_pool_gradient),
                    global_lp_pool_gradient_cases);
