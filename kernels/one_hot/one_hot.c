/* OneHot: the "on" value where an index points along a new axis, the "off" value elsewhere (also for an index outside).
 */
#include <math.h>

#include "graph/evaluate.h"
#include "kernels/common/index.h"
#include "kernels/common/rules.h"
#include "kernels/one_hot/one_hot.h"

enum { INDICES, DEPTH, VALUES };
enum { AXIS };

static ons_status *one_hot_infer(ons_operands *o) {
    const ons_shape *indices = &o->inputs[INDICES].shape;
    const ons_tensor *given = &o->constants[DEPTH];
    uint32_t axis;
    if (given->data == NULL || ons_elements(&given->type) != 1)
        return ons_node_error(o, "the depth decides the shape and must be one known number");
    uint64_t word = 0;
    ons_widen(given->type.dtype, given->data, 1, &word);
    double real;
    memcpy(&real, &word, sizeof real);
    int64_t depth = (int64_t)word;
    if (ons_dtype_is_float(given->type.dtype)) depth = real >= 1 && real < 0x1p40 ? (int64_t)real : 0;
    if (depth < 1 || indices->rank + 1 > ONS_RANK_MAX || ons_elements(&o->inputs[VALUES]) != 2)
        return ons_node_error(o, "needs a depth of at least 1 and two values");
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), indices->rank + 1, &axis));
    ons_shape shape = {.rank = indices->rank + 1};
    for (uint32_t i = 0; i < shape.rank; ++i)
        shape.dims[i] = i < axis ? indices->dims[i] : i == axis ? depth : indices->dims[i - 1];
    o->outputs[0] = ons_type_make(o->inputs[VALUES].dtype, shape);
    return NULL;
}

static ons_one_hot make_state(const ons_operands *o) {
    const ons_shape *shape = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), shape->rank, &axis);
    return (ons_one_hot){
        ons_shape_span(shape, 0, axis), shape->dims[axis],        ons_shape_span(shape, axis + 1, shape->rank),
        ons_elements(&o->outputs[0]),   o->inputs[INDICES].dtype, ons_dtype_size(o->outputs[0].dtype)};
}

/* An index given as a float; one that is no index at all points outside. */
static int64_t whole(double index) { return index > -0x1p52 && index < 0x1p52 ? (int64_t)index : INT64_MAX; }

static void one_hot_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_one_hot s = make_state(o);
    for (int64_t i = 0; i < s.elements; ++i) {
        int64_t at = i / (s.depth * s.inner) * s.inner + i % s.inner, position = i / s.inner % s.depth;
        int64_t index = ons_dtype_is_float(s.index_dtype) ? whole(((const double *)inputs[INDICES])[at])
                                                          : ((const int64_t *)inputs[INDICES])[at];
        index += index < 0 ? s.depth : 0;
        ons_copy_word(outputs[0], i, inputs[VALUES], index == position);
    }
}

static ons_status *one_hot_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[INDICES].dtype;
    if (dtype != ONS_INT64 && dtype != ONS_INT32 && dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for indices of %s", ons_dtype_name(dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_one_hot), &memory));
    *(ons_one_hot *)memory = make_state(p->operands);
    return NULL;
}

static int64_t read_index(ons_dtype dtype, const void *indices, int64_t i) {
    return dtype == ONS_INT64   ? ((const int64_t *)indices)[i]
           : dtype == ONS_INT32 ? ((const int32_t *)indices)[i]
                                : whole(((const float *)indices)[i]);
}

static void one_hot_run(const ons_launch *launch) {
    const ons_one_hot *s = launch->state;
    const char *values = launch->inputs[VALUES];
    char *out = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t outer = 0; outer < s->outer; ++outer) {
        char *to = out + outer * s->depth * s->inner * (int64_t)s->size;
        for (int64_t i = 0; i < s->depth * s->inner; ++i) memcpy(to + i * (int64_t)s->size, values, s->size);
        for (int64_t i = 0; i < s->inner; ++i) {
            int64_t index = read_index(s->index_dtype, launch->inputs[INDICES], outer * s->inner + i);
            index += index < 0 ? s->depth : 0;
            if (index >= 0 && index < s->depth)
                memcpy(to + (index * s->inner + i) * (int64_t)s->size, values + s->size, s->size);
        }
    }
}

/* The "on" value gathers the cotangents of the places that are on, the "off" value those of all others. */
static ons_status *one_hot_gradient(ons_gradient *g) {
    static const int64_t first = 0;
    ons_value_id none = ons_make_scalar(g, 0), one = ons_make_scalar(g, 1), dy = g->cotangents[0];
    ons_value_id zero_axis = ons_build_integers(g->builder, &first, 1);
    none = ons_make2(g, &ons_op_unsqueeze, none, zero_axis);
    one = ons_make2(g, &ons_op_unsqueeze, one, zero_axis);
    ons_value_id off_on = ons_build(g->builder, &ons_op_concat, ONS_IN(none, one), ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id on =
        ons_make_like(g, &ons_op_one_hot, ONS_IN(ons_gradient_input(g, INDICES), ons_gradient_input(g, DEPTH), off_on));
    ons_value_id of_on = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(ons_make2(g, &ons_op_mul, dy, on)),
                                   ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id of_all = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(dy), ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id of_off = ons_make2(g, &ons_op_sub, of_all, of_on);
    g->gradients[VALUES] = ons_build(
        g->builder, &ons_op_concat,
        ONS_IN(ons_make2(g, &ons_op_unsqueeze, of_off, zero_axis), ons_make2(g, &ons_op_unsqueeze, of_on, zero_axis)),
        ONS_WITH(ONS_AT_INT(0, 0)));
    return NULL;
}

#define VALUES_OF(OFF, ON)                                                                                             \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = {1, {2}}, .value_count = 2, .values = { OFF, ON }                               \
    }

static const ons_case one_hot_cases[] = {
    {.name = "last", .inputs = {ONS_RANDOM(ONS_INT64, -5, 4, 3, 2), ONS_I64_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "first",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 4, 7), ONS_I64_SCALAR(5), VALUES_OF(-1, 2)},
     .settings = {ONS_SET_INT("axis", 0)}},
    {.name = "outside", .inputs = {ONS_RANDOM(ONS_INT32, 5, 9, 4), ONS_I64_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "float_indices", .inputs = {ONS_F32_IN(0, 5, 4), ONS_F32_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "odd_indices",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(5), .value_count = 5, .values = {NAN, INFINITY, -1.5, 2, -9}},
                ONS_I64_SCALAR(5),
                VALUES_OF(0, 1)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 4, 4), ONS_I64_SCALAR(5), ONS_RANDOM(ONS_INT8, -9, 9, 2)}},
    {.name = "threads", .inputs = {ONS_RANDOM(ONS_INT64, 0, 64, 500), ONS_I64_SCALAR(65), VALUES_OF(0, 1)}},
    {.name = "no_depth",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 4, 4), ONS_I64_SCALAR(0), VALUES_OF(0, 1)},
     .error = "depth"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(one_hot, "OneHot", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(one_hot_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(one_hot_gradient, ONS_INPUT_BIT(VALUES)), ONS_SAVES(ONS_INPUT_BIT(INDICES), 0),
                    /* Indices of a half type would be other indices. */
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, 0,
                                        ONS_INPUT_BIT(INDICES) | ONS_INPUT_BIT(DEPTH)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(one_hot_reference),
                    ONS_CPU_KERNEL(one_hot_prepare, one_hot_run), ONS_CUDA_KERNEL(one_hot_prepare, ons_cuda_one_hot),
                    one_hot_cases);
