/* Compress: the slices along an axis (without one, the elements) for which the condition holds. How many there are
 * decides the shape, so the condition must be known when shapes are bound; the node then becomes a Gather. */
#include "kernels/compress/compress.h"

#include "graph/passes/replacement.h"
#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"

enum { DATA, CONDITION };

/* outer × length × inner */
typedef struct view {
    int64_t outer, length, inner;
    uint32_t axis;
    bool flat;
} view;

static ons_status *find_view(const ons_operands *o, view *v) {
    const ons_shape *shape = &o->inputs[DATA].shape;
    *v = (view){1, ons_shape_elements(shape), 1, 0, !ons_has_attribute(o, AXIS)};
    if (v->flat) return NULL;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape->rank, &v->axis));
    v->outer = ons_shape_span(shape, 0, v->axis);
    v->length = shape->dims[v->axis];
    v->inner = ons_shape_span(shape, v->axis + 1, shape->rank);
    return NULL;
}

static ons_status *count_chosen(const ons_operands *o, const view *v, int64_t *count) {
    const unsigned char *known = o->constants[CONDITION].data;
    if (o->inputs[CONDITION].dtype != ONS_BOOL || o->inputs[CONDITION].shape.rank != 1)
        return ons_node_error(o, "the condition must be a vector of booleans");
    if (known == NULL)
        return ons_node_error(o, "its result's shape depends on data (the condition); export the model with static "
                                 "shapes, or mask by multiplication");
    *count = 0;
    for (int64_t i = 0, n = ons_elements(&o->inputs[CONDITION]); i < n; ++i) {
        if (known[i] != 0 && i >= v->length)
            return ons_node_error(o, "the condition chooses element %lld of %lld", (long long)i, (long long)v->length);
        *count += known[i] != 0;
    }
    return NULL;
}

static ons_status *compress_infer(ons_operands *o) {
    view v;
    int64_t count;
    ONS_TRY(find_view(o, &v));
    ONS_TRY(count_chosen(o, &v, &count));
    ons_shape shape = v.flat ? (ons_shape){.rank = 1} : o->inputs[DATA].shape;
    shape.dims[v.axis] = count;
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

static void compress_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    view v = {0};
    ons_resolved(find_view(o, &v));
    const int64_t *condition = inputs[CONDITION];
    int64_t n = ons_elements(&o->inputs[CONDITION]), room = ons_elements(&o->outputs[0]), to = 0;
    n = n < v.length ? n : v.length;
    for (int64_t outer = 0; outer < v.outer; ++outer)
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; condition[i] != 0 && k < v.inner && to < room; ++k)
                ons_copy_word(outputs[0], to++, inputs[DATA], (outer * v.length + i) * v.inner + k);
}

/* The positions that a known condition chooses, as a constant. */
static ons_value_id chosen_positions(ons_builder *builder, const ons_operands *o) {
    const unsigned char *known = o->constants[CONDITION].data;
    int64_t *positions, count = 0, n = ons_elements(&o->inputs[CONDITION]);
    positions = ons_arena_allocate(builder->graph->arena, (size_t)n + 1, sizeof *positions);
    if (positions == NULL) {
        ons_builder_fail(builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; known != NULL && i < n; ++i)
        if (known[i] != 0) positions[count++] = i;
    ons_type type = ons_type_make(ONS_INT64, ons_shape_make(1, &count));
    return ons_build_constant(builder, "positions", &type, positions);
}

static ons_status *compress_decompose(ons_replacement *m) {
    view v;
    ons_resolved(find_view(m->operands, &v));
    ons_value_id data = m->inputs[DATA];
    if (v.flat) data = ons_build_reshape(m->builder, data, &(ons_shape){1, {v.length}});
    m->outputs[0] = ons_build(m->builder, &ons_op_gather, ONS_IN(data, chosen_positions(m->builder, m->operands)),
                              ONS_WITH(ONS_AT_INT(0, v.axis)));
    m->replaced = true;
    return NULL;
}

static ons_status *compress_gradient(ons_gradient *g) {
    view v;
    ons_resolved(find_view(g->operands, &v));
    const ons_shape *data = &g->operands->inputs[DATA].shape;
    ons_shape shape = v.flat ? (ons_shape){1, {v.length}} : *data;
    ons_value_id gradient = ons_build(g->builder, &ons_op_gather_gradient,
                                      ONS_IN(g->cotangents[0], chosen_positions(g->builder, g->operands)),
                                      ONS_WITH(ONS_AT_INT(0, v.axis), ONS_AT_INTS(1, shape.rank, shape.dims)));
    g->gradients[DATA] = v.flat ? ons_build_reshape(g->builder, gradient, data) : gradient;
    return NULL;
}

ONS_DEFINE_OPERATOR(compress, "Compress", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT)), ONS_INFER(compress_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(compress_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(NULL, ONS_NO_PATTERNS, compress_decompose), ONS_REFERENCE(compress_reference));
