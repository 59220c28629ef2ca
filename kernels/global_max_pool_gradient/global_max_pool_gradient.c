/* The gradient of GlobalMaxPool's input: it goes to the first position that holds the maximum. Inputs: the output's
 * gradient, x, the output. */
#include <string.h>

#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"

static ons_status *global_max_pool_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, &o->inputs[2].shape) ||
        x->dims[0] != o->inputs[0].shape.dims[0] || x->dims[1] != o->inputs[0].shape.dims[1])
        return ons_node_error(o, "gradient, input and output do not fit each other");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static void global_max_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                               void *const *outputs) {
    (void)step;
    ons_channels c = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        bool found = false;
        for (int64_t k = 0; k < c.positions; ++k) {
            bool here = !found && x[i * c.positions + k] == y[i];
            dx[i * c.positions + k] = here ? dy[i] : 0;
            found |= here;
        }
    }
}

static ons_status *global_max_pool_gradient_prepare(ons_prepare *p) {
    const ons_type *x = &p->operands->inputs[1];
    if (x->dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(x->dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_channels), &memory));
    *(ons_channels *)memory = ons_channels_of(x);
    return NULL;
}

static void global_max_pool_gradient_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0];
#pragma omp parallel for schedule(static) if (c->batch * c->channels * c->positions > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < c->batch * c->channels; ++i) {
        const float *from = x + i * c->positions;
        float *to = dx + i * c->positions;
        int64_t k = 0;
        memset(to, 0, (size_t)c->positions * sizeof *to);
        while (k < c->positions && from[k] != y[i]) ++k;
        if (k < c->positions) to[k] = dy[i];
    }
}

static ons_status *global_max_pool_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, global_max_pool_gradient_prepare);
}

static const ons_case global_max_pool_gradient_cases[] = {
    {.name = "equal",
     .inputs = {ONS_F32(2, 3, 1, 1),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2, 3, 2, 2), .value_count = 4, .values = {1, 3, 3, 2}},
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2, 3, 1, 1), .value_count = 1, .values = {3}}},
     .flops = 24,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1), ONS_F32(16, 512, 14, 14), ONS_F32(16, 512, 1, 1)},
     .flops = 1605632,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_max_pool_gradient, "GlobalMaxPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(global_max_pool_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(global_max_pool_gradient_reference),
                    ONS_CPU_KERNEL(global_max_pool_gradient_prepare, global_max_pool_gradient_run),
                    ONS_CUDA_KERNEL(global_max_pool_gradient_prepare_cuda, ons_cuda_global_max_pool_gradient),
                    global_max_pool_gradient_cases);
