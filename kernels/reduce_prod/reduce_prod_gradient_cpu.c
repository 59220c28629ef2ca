/* ReduceProdGradient on the CPU. */
#include "kernels/reduce_prod/reduce_prod_gradient.h"

#include "kernels/reduction/reduction.h"

static ons_status *reduce_prod_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[X].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s", ons_dtype_name(o->inputs[X].dtype));
    bool reduced[ONS_RANK_MAX];
    ons_resolved(ons_reduction_axes(o, reduced));
    state *s;
    ONS_NEW_STATE(s, p);
    s->elements = ons_elements(&o->inputs[X]);
    s->results = ons_elements(&o->inputs[COTANGENT]);
    ONS_NEW(s->targets, p->arena, (size_t)s->elements + 1);
    for (int64_t i = 0; i < s->elements; ++i) s->targets[i] = (int32_t)ons_reduction_target(o, reduced, i);
    p->scratch_bytes = (s->results * (int64_t)sizeof(product) + 63) / 64 * 64;
    return NULL;
}

static void reduce_prod_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const float *x = launch->inputs[X], *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    product *products = launch->scratch;
    for (int64_t i = 0; i < s->results; ++i) products[i] = (product){1, 0};
    for (int64_t i = 0; i < s->elements; ++i) note_element(&products[s->targets[i]], x[i]);
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i)
        out[i] = (float)gradient_of(x[i], cotangent[s->targets[i]], &products[s->targets[i]]);
}

ONS_KERNELS(cpu, reduce_prod_gradient, ONS_KERNEL(reduce_prod_gradient_prepare, reduce_prod_gradient_run))
