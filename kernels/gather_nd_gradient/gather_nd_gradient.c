/* The gradient of GatherND: zeros, and the cotangents added to the slices that were looked up, in the order of the
 * tuples. */
#include "kernels/gather_nd_gradient/gather_nd_gradient.h"
#include "kernels/common/lines.h"
#include "kernels/common/nd_lookup.h"

enum { COTANGENT, INDICES };
enum { BATCH_DIMS, SHAPE };

static ons_status *find_lookup(const ons_operands *o, ons_shape *shape, ons_nd_lookup *lookup, uint32_t *tail) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    *shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(shape), "node '%s'", o->name);
    return ons_nd_lookup_of(o, shape, ons_attribute_int(o, BATCH_DIMS), lookup, tail);
}

static ons_status *gather_nd_gradient_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ons_shape data, shape;
    ONS_TRY(find_lookup(o, &data, &lookup, &tail));
    ONS_TRY(ons_nd_lookup_shape(o, &data, tail, &shape));
    if (!ons_shape_equal(&o->inputs[COTANGENT].shape, &shape))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, data);
    return NULL;
}

static ons_cost gather_nd_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

static void gather_nd_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_nd_lookup lookup = {0};
    uint32_t tail;
    ons_shape data;
    ons_status_free(find_lookup(o, &data, &lookup, &tail)); /* has passed inference */
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t i = 0, bad = 0; i < lookup.batches * lookup.tuples; ++i) {
        int64_t to = ons_nd_lookup_at(&lookup, ONS_INT64, inputs[INDICES], i, &bad);
        for (int64_t k = 0; to >= 0 && k < lookup.slice; ++k)
            out[to + k] += ((const double *)inputs[COTANGENT])[i * lookup.slice + k];
    }
}

static ons_status *gather_nd_gradient_prepare(ons_prepare *p) {
    void *memory;
    uint32_t tail;
    ons_shape data;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_gather_nd_gradient), &memory));
    ons_gather_nd_gradient *s = memory;
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    return find_lookup(p->operands, &data, &s->lookup, &tail);
}

static void add_piece(const ons_nd_lookup *lookup, const ons_launch *launch, int64_t number) {
    ons_nd_task task = ons_nd_task_of(lookup, number);
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    for (int64_t i = task.first, bad = 0; i < task.last; ++i) {
        int64_t to = ons_nd_lookup_at(lookup, lookup->index_dtype, launch->inputs[INDICES], i, &bad);
        if (to < 0) continue; /* a fault that the forward node reports */
        const float *from = cotangent + i * lookup->slice + task.begin;
        float *sum = out + to + task.begin;
#pragma omp simd
        for (int64_t k = 0; k < task.count; ++k) sum[k] += from[k];
    }
}

static void gather_nd_gradient_run(const ons_launch *launch) {
    const ons_gather_nd_gradient *s = launch->state;
    const ons_nd_lookup *lookup = &s->lookup;
    int64_t tasks = lookup->batches * ons_nd_pieces(lookup);
    ons_zero_bytes(launch->outputs[0], s->bytes);
#pragma omp parallel for schedule(static) if (lookup->batches * lookup->tuples * lookup->slice > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tasks; ++i) add_piece(lookup, launch, i);
}

#define OF_DATA(BATCH_DIMS, ...) .settings = {ONS_SET_INT("batch_dims", BATCH_DIMS), ONS_SET_INTS("shape", __VA_ARGS__)}

static const ons_case gather_nd_gradient_cases[] = {
    {.name = "elements",
     .inputs = {ONS_F32(9), ONS_RANDOM(ONS_INT64, -3, 2, 9, 2)},
     OF_DATA(0, 3, 4),
     .tolerance = 1e-6,
     .flops = 9},
    {.name = "slices",
     .inputs = {ONS_F32(2, 4, 3, 5), ONS_RANDOM(ONS_INT32, 0, 2, 2, 4, 1)},
     OF_DATA(0, 3, 3, 5),
     .tolerance = 1e-6,
     .flops = 120},
    {.name = "batches",
     .inputs = {ONS_F32(2, 5, 4), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5, 1)},
     OF_DATA(1, 2, 3, 4),
     .tolerance = 1e-6,
     .flops = 40},
    {.name = "threads",
     .inputs = {ONS_F32(4, 20, 900), ONS_RANDOM(ONS_INT64, 0, 8, 4, 20, 1)},
     OF_DATA(1, 4, 9, 900),
     .tolerance = 1e-6,
     .flops = 72000},
    {.name = "misfit",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 1)},
     OF_DATA(0, 3, 4),
     .error = "looked up"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_nd_gradient, "GatherNDGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_dims", 0),
                                   ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(gather_nd_gradient_infer), ONS_COST(gather_nd_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_nd_gradient_reference),
                    ONS_CPU_KERNEL(gather_nd_gradient_prepare, gather_nd_gradient_run),
                    ONS_CUDA_KERNEL(gather_nd_gradient_prepare, ons_cuda_gather_nd_gradient), gather_nd_gradient_cases);
