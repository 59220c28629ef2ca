/* The gradient of ReduceProd: each element's is the cotangent times the product of the others, right also where an
 * element is 0. Inputs: the operator's two, and the cotangent. */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/cuda_reduction.h"
#include "kernels/common/reduction.h"

enum { X, AXES, COTANGENT };

typedef struct product {
    double others; /* of all elements that are not 0 */
    int64_t zeros;
} product;

static double gradient_of(double x, double cotangent, const product *p) {
    bool others_have_zero = p->zeros > (x == 0);
    return others_have_zero ? 0 : cotangent * (x == 0 ? p->others : p->others / x);
}

static void note_element(product *p, double x) {
    if (x == 0)
        ++p->zeros;
    else
        p->others *= x;
}

static void reduce_prod_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    const double *x = inputs[X], *cotangent = inputs[COTANGENT];
    bool reduced[ONS_RANK_MAX];
    ons_status_free(ons_reduction_axes(o, reduced)); /* has passed inference */
    int64_t n = ons_elements(&o->inputs[X]);
    for (int64_t i = 0; i < n; ++i) {
        product p = {1, 0};
        int64_t target = ons_reduction_target(o, reduced, i);
        for (int64_t k = 0; k < n; ++k)
            if (ons_reduction_target(o, reduced, k) == target) note_element(&p, x[k]);
        ((double *)outputs[0])[i] = gradient_of(x[i], cotangent[target], &p);
    }
}

typedef struct state {
    int64_t elements, results;
    int32_t *targets; /* of each element, the result that it goes into */
} state;

static ons_status *reduce_prod_gradient_infer(ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    if (!ons_has_input(o, COTANGENT)) /* the axes before it may be left out */
        return ons_node_error(o, "no cotangent");
    ONS_TRY(ons_reduction_axes(o, reduced));
    int64_t count = ons_reduction_count(o), elements = ons_elements(&o->inputs[X]);
    if (count > 0 && elements / count != ons_elements(&o->inputs[COTANGENT]))
        return ons_node_error(o, "the cotangent does not have the shape of the result");
    o->outputs[0] = o->inputs[X];
    return NULL;
}

static ons_status *reduce_prod_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[X].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s", ons_dtype_name(o->inputs[X].dtype));
    void *memory;
    bool reduced[ONS_RANK_MAX];
    ONS_TRY(ons_reduction_axes(o, reduced));
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
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

/* A group of threads for each result: no parts. */
static ons_status *reduce_prod_gradient_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    ONS_TRY(ons_cuda_reduction_prepare(p));
    ((ons_cuda_reduction *)p->state)->parts = 1;
    p->scratch_bytes = 0;
    return NULL;
}

static const ons_case reduce_prod_gradient_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(4, 7), ONS_I64(1), ONS_F32(4, 1)}, .tolerance = 1e-5, .flops = 28},
    {.name = "dropped",
     .inputs = {ONS_F32(4, 7), ONS_I64(0), ONS_F32(7)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 1e-5,
     .flops = 28},
    {.name = "zeros",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(3, 4),
                 .value_count = 12,
                 .values = {1, 2, 0, 3, 0, 2, 0, 5, 1, 2, 3, 4}},
                ONS_I64(1),
                ONS_F32(3, 1)},
     .tolerance = 1e-5,
     .flops = 12},
    {.name = "all", .inputs = {ONS_F32(2, 3), ONS_LEFT_OUT, ONS_F32(1, 1)}, .tolerance = 1e-5, .flops = 6},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_prod_gradient, "ReduceProdGradient", ONS_INTERNAL, ONS_ARITY(1, 3, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(reduce_prod_gradient_infer), ONS_COST(ons_reduction_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(reduce_prod_gradient_reference),
                    ONS_CPU_KERNEL(reduce_prod_gradient_prepare, reduce_prod_gradient_run),
                    ONS_CUDA_KERNEL(reduce_prod_gradient_prepare_cuda, ons_cuda_reduce_prod_gradient),
                    reduce_prod_gradient_cases);
