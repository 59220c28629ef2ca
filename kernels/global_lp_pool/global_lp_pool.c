/* GlobalLpPool: the p-norm of all positions of a channel. */
#include "kernels/global_lp_pool/global_lp_pool.h"
#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/lp.h"

enum { P };

static ons_status *global_lp_pool_infer(ons_operands *o) {
    ons_shape shape = o->inputs[0].shape;
    int p;
    if (shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, &p));
    for (uint32_t i = 2; i < shape.rank; ++i) shape.dims[i] = 1;
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

static ons_cost global_lp_pool_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void global_lp_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    (void)step;
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0], p = (double)ons_attribute_int(o, P);
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < c.positions; ++k) sum += pow(fabs(x[i * c.positions + k]), p);
        y[i] = pow(sum, 1 / p);
    }
}

static ons_status *global_lp_pool_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_global_lp_pool), &memory));
    ons_global_lp_pool *s = memory;
    s->size = ons_channels_of(&p->operands->inputs[0]);
    return ons_lp_order(p->operands, P, ONS_LP_MAX, &s->p);
}

static void global_lp_pool_run(const ons_launch *launch) {
    const ons_global_lp_pool *s = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    int64_t planes = s->size.batch * s->size.channels, length = s->size.positions;
    int p = s->p;
#pragma omp parallel for schedule(static) if (planes * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < length; ++k) sum += ons_lp_term(x[i * length + k], p);
        y[i] = ons_lp_root(sum, p);
    }
}

static ons_status *global_lp_pool_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_global_lp_pool_gradient,
                                ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)),
                                ONS_WITH(ONS_AT_INT(P, ons_attribute_int(g->operands, P))));
    return NULL;
}

static ons_status *global_lp_pool_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, global_lp_pool_prepare);
}

static const ons_case global_lp_pool_cases[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 7, 3)}, .tolerance = 1e-6, .flops = 420},
    {.name = "order_1",
     .inputs = {ONS_F32(2, 5, 9)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 180},
    {.name = "order_3",
     .inputs = {ONS_F32_IN(0.1, 1, 2, 3, 2, 3, 4)},
     .settings = {ONS_SET_INT("p", 3)},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "no_positions", .inputs = {ONS_F32(4, 3)}, .tolerance = 1e-6, .flops = 24},
    {.name = "threads", .inputs = {ONS_F32(3, 37, 21, 19)}, .tolerance = 1e-5, .flops = 88578},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 512, 14, 14)}, .tolerance = 1e-5, .flops = 3211264, .benchmark = true},
    {.name = "order_0", .inputs = {ONS_F32(2, 3, 4)}, .settings = {ONS_SET_INT("p", 0)}, .error = "p is 0"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_lp_pool, "GlobalLpPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(global_lp_pool_infer),
                    ONS_COST(global_lp_pool_cost), ONS_GRADIENT_RULE(global_lp_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_FORMS(ons_lp_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(global_lp_pool_reference), ONS_CPU_KERNEL(global_lp_pool_prepare, global_lp_pool_run),
                    ONS_CUDA_KERNEL(global_lp_pool_prepare_cuda, ons_cuda_global_lp_pool), global_lp_pool_cases);
