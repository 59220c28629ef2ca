/* GatherND: the slices of the data that index tuples name. */
#include "kernels/gather_nd/gather_nd.h"
#include "kernels/common/nd_lookup.h"

enum { DATA, INDICES };
enum { BATCH_DIMS };

static ons_status *find_lookup(const ons_operands *o, ons_nd_lookup *lookup, uint32_t *tail) {
    return ons_nd_lookup_of(o, &o->inputs[DATA].shape, ons_attribute_int(o, BATCH_DIMS), lookup, tail);
}

static ons_status *gather_nd_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ons_shape shape;
    ONS_TRY(find_lookup(o, &lookup, &tail));
    ONS_TRY(ons_nd_lookup_shape(o, &o->inputs[DATA].shape, tail, &shape));
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

static void gather_nd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_nd_lookup lookup = {0};
    uint32_t tail;
    ons_status_free(find_lookup(o, &lookup, &tail)); /* has passed inference */
    for (int64_t i = 0, zero = 0; i < lookup.batches * lookup.tuples; ++i) {
        int64_t from = ons_nd_lookup_reference(&lookup, step, inputs[INDICES], i);
        for (int64_t k = 0; k < lookup.slice; ++k)
            ons_copy_word(outputs[0], i * lookup.slice + k, from < 0 ? &zero : inputs[DATA], from < 0 ? 0 : from + k);
    }
}

static ons_status *gather_nd_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    uint32_t tail;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_gather_nd), &memory));
    ons_gather_nd *s = memory;
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    return find_lookup(o, &s->lookup, &tail);
}

static void gather_nd_run(const ons_launch *launch) {
    const ons_gather_nd *s = launch->state;
    const ons_nd_lookup *lookup = &s->lookup;
    const char *data = launch->inputs[DATA];
    char *out = launch->outputs[0];
    int64_t tuples = lookup->batches * lookup->tuples;
    size_t bytes = (size_t)lookup->slice * s->size;
#pragma omp parallel for schedule(static) if (tuples * lookup->slice > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tuples; ++i) {
        int64_t bad = 0, from = ons_nd_lookup_at(lookup, lookup->index_dtype, launch->inputs[INDICES], i, &bad);
        if (from < 0) {
            ons_fault_index(launch, bad, ons_index_at(lookup->index_dtype, launch->inputs[INDICES], bad));
            memset(out + (size_t)i * bytes, 0, bytes);
        } else {
            memcpy(out + (size_t)i * bytes, data + (size_t)from * s->size, bytes);
        }
    }
}

static ons_status *gather_nd_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_nd_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BATCH_DIMS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

static const ons_case gather_nd_cases[] = {
    {.name = "elements", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -3, 2, 5, 2)}},
    {.name = "slices", .inputs = {ONS_F32(3, 3, 5), ONS_RANDOM(ONS_INT64, 0, 2, 2, 4, 1)}},
    {.name = "batches",
     .inputs = {ONS_F32(2, 3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5, 1)},
     .settings = {ONS_SET_INT("batch_dims", 1)}},
    {.name = "two_batches",
     .inputs = {ONS_F32(2, 3, 4, 2), ONS_RANDOM(ONS_INT32, -4, 3, 2, 3, 1)},
     .settings = {ONS_SET_INT("batch_dims", 2)}},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 1)}},
    {.name = "threads", .inputs = {ONS_F32(20, 90), ONS_RANDOM(ONS_INT32, 0, 19, 300, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1)}},
    {.name = "too_deep", .inputs = {ONS_F32(3), ONS_RANDOM(ONS_INT64, 0, 2, 5, 2)}, .error = "tuples"},
    {.name = "batches_differ",
     .inputs = {ONS_F32(2, 3), ONS_RANDOM(ONS_INT64, 0, 2, 3, 1)},
     .settings = {ONS_SET_INT("batch_dims", 1)},
     .error = "batch"},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "index 3"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}}},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}}},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_nd, "GatherND", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_dims", 0)), ONS_INFER(gather_nd_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_nd_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(gather_nd_reference), ONS_CPU_KERNEL(gather_nd_prepare, gather_nd_run),
                    ONS_CUDA_KERNEL(gather_nd_prepare, ons_cuda_gather_nd), gather_nd_cases);
