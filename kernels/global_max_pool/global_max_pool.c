/* GlobalMaxPool: the maximum over all positions of a channel. */
#include <math.h>

#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"

static ons_status *global_max_pool_infer(ons_operands *o) {
    ons_shape shape = o->inputs[0].shape;
    if (shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    for (uint32_t i = 2; i < shape.rank; ++i) shape.dims[i] = 1;
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

static ons_cost global_max_pool_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void global_max_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    (void)step;
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        y[i] = -INFINITY;
        for (int64_t k = 0; k < c.positions; ++k) {
            double value = x[i * c.positions + k];
            y[i] = value > y[i] || isnan(value) ? value : y[i];
        }
    }
}

static ons_status *global_max_pool_prepare(ons_prepare *p) {
    const ons_type *x = &p->operands->inputs[0];
    if (x->dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(x->dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_channels), &memory));
    *(ons_channels *)memory = ons_channels_of(x);
    return NULL;
}

static void global_max_pool_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
#pragma omp parallel for schedule(static) if (c->batch * c->channels * c->positions > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < c->batch * c->channels; ++i) {
        const float *from = x + i * c->positions;
        float best = -INFINITY;
        int32_t not_numbers = 0;
#pragma omp simd reduction(max : best) reduction(+ : not_numbers)
        for (int64_t k = 0; k < c->positions; ++k) {
            best = from[k] > best ? from[k] : best;
            not_numbers += from[k] != from[k];
        }
        y[i] = not_numbers > 0 ? NAN : best;
    }
}

static ons_status *global_max_pool_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_global_max_pool_gradient,
                  ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)), ONS_DEFAULTS);
    return NULL;
}

static ons_status *global_max_pool_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, global_max_pool_prepare);
}

static const ons_case global_max_pool_cases[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 7, 3)}, .flops = 210},
    {.name = "one_dim", .inputs = {ONS_F32(2, 5, 9)}, .flops = 90},
    {.name = "no_positions", .inputs = {ONS_F32(4, 3)}, .flops = 12},
    {.name = "threads", .inputs = {ONS_F32(3, 37, 21, 19)}, .flops = 44289, .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 512, 14, 14)}, .flops = 1605632, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_max_pool, "GlobalMaxPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(global_max_pool_infer), ONS_COST(global_max_pool_cost),
                    ONS_GRADIENT_RULE(global_max_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(global_max_pool_reference),
                    ONS_CPU_KERNEL(global_max_pool_prepare, global_max_pool_run),
                    ONS_CUDA_KERNEL(global_max_pool_prepare_cuda, ons_cuda_global_max_pool), global_max_pool_cases);
