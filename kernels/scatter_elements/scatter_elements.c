/* ScatterElements: the data with updates put, or added, at the same indices but along one axis at indices[i]. */
#include "kernels/common/scatter.h"

enum { DATA, INDICES, UPDATES };
enum { AXIS, REDUCTION };

static ons_status *scatter_elements_infer(ons_operands *o) {
    const ons_shape *data = &o->inputs[DATA].shape, *indices = &o->inputs[INDICES].shape;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), data->rank, &axis));
    ONS_TRY(ons_check_indices(o, INDICES, data->dims[axis]));
    if (indices->rank != data->rank || !ons_shape_equal(indices, &o->inputs[UPDATES].shape) ||
        o->inputs[UPDATES].dtype != o->inputs[DATA].dtype)
        return ons_node_error(o, "data, indices and updates do not fit together");
    for (uint32_t i = 0; i < data->rank; ++i)
        if (i != axis && indices->dims[i] > data->dims[i])
            return ons_node_error(o, "the indices are longer than the data along axis %u", i);
    if (ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)) == ONS_SCATTER_MODES)
        return ons_node_error(o, "unknown reduction '%s'", ons_attribute_string(o, REDUCTION));
    o->outputs[0] = o->inputs[DATA];
    return NULL;
}

typedef struct state {
    ons_shape data, indices;
    uint32_t axis;
    int64_t elements, bytes;
    size_t size;
    ons_dtype index_dtype;
    ons_scatter_mode mode;
} state;

static state make_state(const ons_operands *o) {
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[DATA].shape.rank, &axis);
    return (state){o->inputs[DATA].shape,
                   o->inputs[INDICES].shape,
                   axis,
                   ons_elements(&o->inputs[INDICES]),
                   ons_type_dense_bytes(&o->inputs[DATA]),
                   ons_dtype_size(o->inputs[DATA].dtype),
                   o->inputs[INDICES].dtype,
                   ons_scatter_mode_of(ons_attribute_string(o, REDUCTION))};
}

static int64_t target_of(const state *s, int64_t number, int64_t row) {
    int64_t index[ONS_RANK_MAX];
    ons_unravel(&s->indices, number, index);
    index[s->axis] = row;
    return ons_ravel(&s->data, index);
}

static void scatter_elements_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    state s = make_state(o);
    memcpy(outputs[0], inputs[DATA], (size_t)ons_elements(&o->inputs[DATA]) * 8);
    for (int64_t i = 0; i < s.elements; ++i) {
        int64_t row = ons_resolve_index(((const int64_t *)inputs[INDICES])[i], s.data.dims[s.axis]);
        if (row >= 0)
            ons_scatter_word(s.mode, o->inputs[DATA].dtype, outputs[0], target_of(&s, i, row), inputs[UPDATES], i);
    }
}

static ons_status *scatter_elements_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    *(state *)memory = make_state(p->operands);
    return ons_scatter_check(p->operands, ((state *)memory)->mode);
}

/* Updates may meet in one place: one thread, in order. */
static void scatter_elements_run(const ons_launch *launch) {
    const state *s = launch->state;
    const char *updates = launch->inputs[UPDATES];
    char *out = launch->outputs[0];
    if (out != launch->inputs[DATA]) memcpy(out, launch->inputs[DATA], (size_t)s->bytes);
    for (int64_t i = 0; i < s->elements; ++i) {
        int64_t index = ons_index_at(s->index_dtype, launch->inputs[INDICES], i);
        int64_t row = ons_resolve_index(index, s->data.dims[s->axis]);
        if (row < 0)
            ons_fault_index(launch, i, index);
        else
            ons_scatter_join(s->mode, s->size, out + (size_t)target_of(s, i, row) * s->size,
                             updates + (size_t)i * s->size, 1);
    }
}

static ons_status *scatter_elements_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_scatter_mode mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    int64_t axis = ons_attribute_int(o, AXIS);
    ons_value_id indices = ons_gradient_input(g, INDICES);
    if (mode != ONS_SCATTER_NONE && mode != ONS_SCATTER_ADD)
        return ons_node_error(o, "no gradient of reduction '%s'; 'none' and 'add' have one",
                              ons_attribute_string(o, REDUCTION));
    if (g->wanted[UPDATES])
        g->gradients[UPDATES] = ons_build(g->builder, &ons_op_gather_elements, ONS_IN(g->cotangents[0], indices),
                                          ONS_WITH(ONS_AT_INT(0, axis)));
    if (g->wanted[DATA])
        g->gradients[DATA] =
            mode == ONS_SCATTER_ADD
                ? g->cotangents[0]
                : ons_build(g->builder, &ons_op_scatter_elements,
                            ONS_IN(g->cotangents[0], indices, ons_build_zeros(g->builder, &o->inputs[UPDATES])),
                            ONS_WITH(ONS_AT_INT(0, axis)));
    return NULL;
}

#define KNOWN_ROWS                                                                                                     \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2, 3), .value_count = 6, .values = { 1, 0, 2, 0, 2, 1 }                  \
    }

static const ons_case scatter_elements_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(3, 3), KNOWN_ROWS, ONS_F32(2, 3)}},
    {.name = "columns", .inputs = {ONS_F32(2, 5), KNOWN_ROWS, ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "add",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 6, 4), ONS_F32(6, 4)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-6},
    {.name = "mul",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 4, 6, 4), ONS_F32(6, 4)},
     .settings = {ONS_SET_STRING("reduction", "mul")},
     .tolerance = 1e-6,
     .no_gradient = true},
    {.name = "max",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT32, 0, 4, 6, 4), ONS_F32(6, 4)},
     .settings = {ONS_SET_STRING("reduction", "max")},
     .no_gradient = true},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3), ONS_RANDOM(ONS_INT64, -9, 9, 3)}},
    {.name = "unknown",
     .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(1)},
     .settings = {ONS_SET_STRING("reduction", "mean")},
     .error = "unknown reduction"},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(2)}, .error = "do not fit"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter_elements, "ScatterElements", ONS_ONNX(11, 22), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_STRING_ATTRIBUTE("reduction", "none")),
                    ONS_INFER(scatter_elements_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(scatter_elements_gradient, ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(UPDATES)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, DATA}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(scatter_elements_reference),
                    ONS_CPU_KERNEL(scatter_elements_prepare, scatter_elements_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), scatter_elements_cases);
