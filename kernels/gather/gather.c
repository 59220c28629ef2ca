/* Gather: along one axis the entries that the indices name; with axis 0 of a matrix, an embedding. */
#include "kernels/common/lookup.h"

enum { DATA, INDICES };
enum { AXIS };

static ons_status *gather_infer(ons_operands *o) {
    uint32_t axis;
    const ons_shape *data = &o->inputs[DATA].shape, *indices = &o->inputs[INDICES].shape;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), data->rank, &axis));
    ONS_TRY(ons_check_indices(o, INDICES, data->dims[axis]));
    ons_shape shape = {.rank = data->rank - 1 + indices->rank};
    if (shape.rank > ONS_RANK_MAX)
        return ons_node_error(o, "the result has rank %u, at most %d is possible", shape.rank, ONS_RANK_MAX);
    for (uint32_t i = 0; i < shape.rank; ++i)
        shape.dims[i] = i < axis                   ? data->dims[i]
                        : i < axis + indices->rank ? indices->dims[i - axis]
                                                   : data->dims[i - indices->rank + 1];
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

typedef ons_gather state;

static state make_state(const ons_operands *o, int64_t element_bytes) {
    const ons_shape *data = &o->inputs[DATA].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), data->rank, &axis);
    return (state){ons_shape_span(data, 0, axis), data->dims[axis],
                   ons_shape_span(data, axis + 1, data->rank) * element_bytes, ons_elements(&o->inputs[INDICES]),
                   o->inputs[INDICES].dtype};
}

static void gather_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    state s = make_state(o, 8);
    const int64_t *indices = inputs[INDICES];
    int64_t outer_count = s.inner == 0 ? 1 : s.outer;
    for (int64_t outer = 0; outer < outer_count; ++outer)
        for (int64_t i = 0; i < s.count; ++i) {
            int64_t row = ons_reference_index(step, i, indices[i], s.length);
            char *to = (char *)outputs[0] + (outer * s.count + i) * s.inner;
            if (row < 0)
                memset(to, 0, (size_t)s.inner);
            else
                memcpy(to, (const char *)inputs[DATA] + (outer * s.length + row) * s.inner, (size_t)s.inner);
        }
}

static ons_status *gather_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    *(state *)memory = make_state(p->operands, (int64_t)ons_dtype_size(p->operands->inputs[DATA].dtype));
    return NULL;
}

static void gather_run(const ons_launch *launch) {
    const state *s = launch->state;
    const char *data = launch->inputs[DATA];
    const void *indices = launch->inputs[INDICES];
    char *out = launch->outputs[0];
    int64_t rows = s->inner == 0 ? s->count : s->outer * s->count; /* of empty ones only the indices matter */
#pragma omp parallel for schedule(static) if (rows * s->inner > 4 * ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        int64_t index = ons_index_at(s->index_dtype, indices, i % s->count);
        int64_t row = ons_resolve_index(index, s->length);
        char *to = out + i * s->inner;
        if (row < 0) {
            ons_fault_index(launch, i % s->count, index);
            memset(to, 0, (size_t)s->inner);
        } else if (s->inner == 4) { /* single elements: a call each would cost more than the copy */
            memcpy(to, data + (i / s->count * s->length + row) * 4, 4);
        } else {
            memcpy(to, data + (i / s->count * s->length + row) * s->inner, (size_t)s->inner);
        }
    }
}

static ons_status *gather_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

#define ALONG(AXIS) .settings = {ONS_SET_INT("axis", AXIS)}

static const ons_case gather_cases[] = {
    {.name = "embedding", .inputs = {ONS_F32(11, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)}},
    {.name = "negative", .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT64, -6, 5, 9)}},
    {.name = "int32", .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT32, -6, 5, 2, 2)}},
    {.name = "columns", .inputs = {ONS_F32(4, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)}, ALONG(-1)},
    {.name = "middle", .inputs = {ONS_F32(3, 5, 2), ONS_RANDOM(ONS_INT64, 0, 4, 2, 2)}, ALONG(1)},
    {.name = "one", .inputs = {ONS_F32(3, 5, 4), ONS_I64_SCALAR(-1)}, ALONG(1)},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0)}},
    {.name = "threads", .inputs = {ONS_F32(65, 128), ONS_RANDOM(ONS_INT64, 0, 64, 8, 64)}},
    {.name = "of_shape", .inputs = {ONS_I64(4, 5, 6), ONS_I64_SCALAR(1)}},
    {.name = "outside", .inputs = {ONS_F32(3, 4), ONS_I64(0, 3)}, .error = "index 3"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 3, 1}}},
     .fault = "an index"},
    {.name = "outside_at_many_places",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 5, 700)},
     .fault = "an index"},
    {.name = "float_index", .inputs = {ONS_F32(3, 4), ONS_F32(2)}, .error = "must be int64"},
    {.name = "large", .inputs = {ONS_F32(50257, 768), ONS_RANDOM(ONS_INT64, 0, 50256, 8, 1024)}, .benchmark = true},
    {.name = "small", .inputs = {ONS_F32(65, 128), ONS_RANDOM(ONS_INT64, 0, 64, 12, 64)}, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather, "Gather", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(gather_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(gather_gradient, ONS_INPUT_BIT(DATA)), ONS_SAVES(ONS_INPUT_BIT(INDICES), 0),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(gather_reference), ONS_CPU_KERNEL(gather_prepare, gather_run),
                    ONS_CUDA_KERNEL(gather_prepare, ons_cuda_gather), gather_cases);
