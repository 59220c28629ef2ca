/* GatherElements: element i of the result is the data's element at the same indices, but along one axis at indices[i].
 */
#include "kernels/common/lookup.h"
#include "kernels/common/scatter.h"

enum { DATA, INDICES };
enum { AXIS };

static ons_status *gather_elements_infer(ons_operands *o) {
    const ons_shape *data = &o->inputs[DATA].shape, *indices = &o->inputs[INDICES].shape;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), data->rank, &axis));
    ONS_TRY(ons_check_indices(o, INDICES, data->dims[axis]));
    if (indices->rank != data->rank)
        return ons_node_error(o, "indices of rank %u for data of rank %u", indices->rank, data->rank);
    for (uint32_t i = 0; i < data->rank; ++i)
        if (i != axis && indices->dims[i] > data->dims[i])
            return ons_node_error(o, "the indices are longer than the data along axis %u", i);
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, *indices);
    return NULL;
}

/* Number of the data's element for element `number` of the indices, whose value is `row`. */
static int64_t source_of(const ons_shape *data, const ons_shape *indices, uint32_t axis, int64_t number, int64_t row) {
    int64_t index[ONS_RANK_MAX];
    ons_unravel(indices, number, index);
    index[axis] = row;
    return ons_ravel(data, index);
}

static uint32_t find_axis(const ons_operands *o) {
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[DATA].shape.rank, &axis);
    return axis;
}

static void gather_elements_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    const ons_shape *data = &o->inputs[DATA].shape, *indices = &o->inputs[INDICES].shape;
    uint32_t axis = find_axis(o);
    for (int64_t i = 0, n = ons_shape_elements(indices), zero = 0; i < n; ++i) {
        int64_t row = ons_resolve_index(((const int64_t *)inputs[INDICES])[i], data->dims[axis]);
        if (row < 0)
            ons_copy_word(outputs[0], i, &zero, 0);
        else
            ons_copy_word(outputs[0], i, inputs[DATA], source_of(data, indices, axis, i, row));
    }
}

typedef struct state {
    ons_shape data, indices;
    uint32_t axis;
    int64_t elements;
    size_t size;
    ons_dtype index_dtype;
} state;

static ons_status *gather_elements_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    *(state *)memory = (state){o->inputs[DATA].shape,
                               o->inputs[INDICES].shape,
                               find_axis(o),
                               ons_elements(&o->outputs[0]),
                               ons_dtype_size(o->inputs[DATA].dtype),
                               o->inputs[INDICES].dtype};
    return NULL;
}

static void gather_elements_run(const ons_launch *launch) {
    const state *s = launch->state;
    const char *data = launch->inputs[DATA];
    char *out = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t i = 0; i < s->elements; ++i) {
        int64_t index = ons_index_at(s->index_dtype, launch->inputs[INDICES], i);
        int64_t row = ons_resolve_index(index, s->data.dims[s->axis]);
        if (row < 0) {
            ons_fault_index(launch, i, index);
            memset(out + (size_t)i * s->size, 0, s->size);
            continue;
        }
        memcpy(out + (size_t)i * s->size, data + (size_t)source_of(&s->data, &s->indices, s->axis, i, row) * s->size,
               s->size);
    }
}

static ons_status *gather_elements_gradient(ons_gradient *g) {
    ons_value_id zeros = ons_build_zeros(g->builder, &g->operands->inputs[DATA]);
    g->gradients[DATA] =
        ons_build(g->builder, &ons_op_scatter_elements, ONS_IN(zeros, ons_gradient_input(g, INDICES), g->cotangents[0]),
                  ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_STRING(1, "add")));
    return NULL;
}

static const ons_case gather_elements_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 4)}},
    {.name = "columns",
     .inputs = {ONS_F32(3, 6), ONS_RANDOM(ONS_INT64, 0, 5, 3, 2)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "fewer",
     .inputs = {ONS_F32(3, 5, 4), ONS_RANDOM(ONS_INT32, 0, 4, 2, 6, 3)},
     .settings = {ONS_SET_INT("axis", -2)}},
    {.name = "threads",
     .inputs = {ONS_F32(90, 70), ONS_RANDOM(ONS_INT64, 0, 69, 90, 60)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3)}},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "index 3"},
    {.name = "rank", .inputs = {ONS_F32(3, 2), ONS_I64(1)}, .error = "rank"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_elements, "GatherElements", ONS_ONNX(11, 22), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(gather_elements_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_elements_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(gather_elements_reference),
                    ONS_CPU_KERNEL(gather_elements_prepare, gather_elements_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), gather_elements_cases);
