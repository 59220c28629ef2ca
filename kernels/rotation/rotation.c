/* Rotary position embedding: pairs (a, b) of the last axis are turned by an angle,
 *
 *     y_a = x_a cos_a - x_b sin_a,    y_b = x_b cos_b + x_a sin_b
 *
 * The pairs are the two halves of the first `size` elements (0: of all), or (interleaved) neighbours; what follows them
 * stays as it is. Cosines and sines broadcast to x; they have a number for each element or for each pair. `inverse` is
 * the gradient: turned back. */
#include "kernels/rotation/rotation_node.h"

#include "kernels/common/layout/axes.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/rotation/patterns.h"

ons_status *ons_rotation_resolve(const ons_operands *o, ons_rotation *r) {
    const ons_shape *x = &o->inputs[X].shape, *table = &o->inputs[COSINES].shape;
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[X].dtype) || o->inputs[X].dtype != o->inputs[COSINES].dtype ||
        !ons_type_equal(&o->inputs[COSINES], &o->inputs[SINES]) || x->rank < 1 || table->rank < 1 ||
        table->rank > x->rank)
        return ons_node_error(o, "cannot turn %s by %s", ons_type_print(&o->inputs[X], left),
                              ons_type_print(&o->inputs[COSINES], right));
    int64_t length = x->dims[x->rank - 1], given = ons_attribute_int(o, ONS_ROTATION_SIZE), step = 1;
    *r = (ons_rotation){.rows = ons_shape_span(x, 0, x->rank - 1), .length = length, .rank = x->rank - 1};
    r->size = given == 0 ? length : given;
    r->interleaved = ons_attribute_int(o, ONS_ROTATION_INTERLEAVED) != 0;
    r->inverse = ons_attribute_int(o, ONS_ROTATION_INVERSE) != 0;
    int64_t numbers = table->dims[table->rank - 1];
    bool fits = r->size >= 0 && r->size % 2 == 0 && r->size <= length && (numbers == r->size || 2 * numbers == r->size);
    r->second = 2 * numbers == r->size ? 0 : r->interleaved ? 1 : r->size / 2;
    step = numbers;
    for (uint32_t i = 0; fits && i < r->rank; ++i) r->dims[i] = x->dims[i];
    for (uint32_t back = 2; fits && back <= table->rank; ++back) {
        int64_t dim = table->dims[table->rank - back];
        fits = dim == 1 || dim == x->dims[x->rank - back];
        r->strides[x->rank - back] = dim == 1 ? 0 : step;
        step *= dim;
    }
    if (fits) return NULL;
    return ons_node_error(o, "tables %s do not fit %s", ons_type_print(&o->inputs[COSINES], right),
                          ons_type_print(&o->inputs[X], left));
}

static ons_status *rotation_infer(ons_operands *o) {
    ons_rotation r;
    ONS_TRY(ons_rotation_resolve(o, &r));
    o->outputs[0] = o->inputs[X];
    return NULL;
}

/* Two multiplications and an addition an element that is turned. */
static ons_cost rotation_cost(const ons_operands *o) {
    ons_rotation r;
    ons_resolved(ons_rotation_resolve(o, &r));
    return (ons_cost){3 * (double)r.rows * (double)r.size, ons_operand_bytes(o)};
}

static void rotation_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    ons_rotation r;
    ons_resolved(ons_rotation_resolve(o, &r));
    for (int64_t row = 0; row < r.rows; ++row) {
        const double *x = (const double *)inputs[X] + row * r.length;
        double *y = (double *)outputs[0] + row * r.length;
        const double *cosines = (const double *)inputs[COSINES] + table_offset(&r, row);
        const double *sines = (const double *)inputs[SINES] + table_offset(&r, row);
        for (int64_t i = r.size; i < r.length; ++i) y[i] = x[i];
        for (int64_t pair = 0; pair < r.size / 2; ++pair) {
            int64_t a = r.interleaved ? 2 * pair : pair, b = r.interleaved ? a + 1 : a + r.size / 2;
            int64_t at = r.interleaved && r.second == 1 ? 2 * pair : pair, next = at + r.second;
            double first = x[a], other = x[b];
            y[a] = first * cosines[at] - other * sines[at];
            y[b] = other * cosines[next] + first * sines[next];
            if (!r.inverse) continue;
            y[a] = first * cosines[at] + other * sines[next];
            y[b] = other * cosines[next] - first * sines[at];
        }
    }
}

/* The product of dy and something of x's shape, summed over what shares a number; the driver sums the repeats. */
static ons_value_id table_gradient(ons_gradient *g, const ons_rotation *r, ons_value_id product) {
    const int64_t begin = 0, axis = -1, pairs_axis = r->interleaved ? -1 : -2;
    ons_shape shape = g->operands->inputs[X].shape;
    if (r->size < r->length)
        product =
            ons_build(g->builder, &ons_op_slice,
                      ONS_IN(product, ons_build_integers(g->builder, &begin, 1),
                             ons_build_integers(g->builder, &r->size, 1), ons_build_integers(g->builder, &axis, 1)),
                      ONS_DEFAULTS);
    if (r->second != 0) return product;
    shape.dims[shape.rank - 1] = r->interleaved ? r->size / 2 : 2;
    shape.dims[shape.rank++] = r->interleaved ? 2 : r->size / 2;
    return ons_build(
        g->builder, &ons_op_reduce_sum,
        ONS_IN(ons_build_reshape(g->builder, product, &shape), ons_build_integers(g->builder, &pairs_axis, 1)),
        ONS_WITH(ONS_AT_INT(0, 0)));
}

static ons_value_id filled_table(ons_gradient *g, const ons_rotation *r, double value) {
    ons_type type = ons_type_make(g->operands->inputs[X].dtype, ons_shape_make(1, &r->size));
    double *words = ons_arena_allocate(g->builder->graph->arena, (size_t)r->size + 1, sizeof *words);
    for (int64_t i = 0; words != NULL && i < r->size; ++i) words[i] = value;
    if (words == NULL) ons_builder_fail(g->builder, ons_status_out_of_memory());
    return words == NULL ? (ons_value_id)ONS_NONE : ons_build_constant(g->builder, "table", &type, words);
}

static ons_status *rotation_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_rotation r;
    ons_resolved(ons_rotation_resolve(o, &r));
    ons_setting size = ONS_AT_INT(ONS_ROTATION_SIZE, r.size),
                pairs = ONS_AT_INT(ONS_ROTATION_INTERLEAVED, r.interleaved);
    ons_value_id dy = g->cotangents[0], x = ons_gradient_input(g, X);
    if (g->wanted[X])
        g->gradients[X] = ons_build(g->builder, &ons_op_rotation,
                                    ONS_IN(dy, ons_gradient_input(g, COSINES), ons_gradient_input(g, SINES)),
                                    ONS_WITH(size, pairs, ONS_AT_INT(ONS_ROTATION_INVERSE, !r.inverse)));
    if (r.inverse && (g->wanted[COSINES] || g->wanted[SINES]))
        return ons_node_error(o, "a rotation back has no gradient for its tables");
    if (g->wanted[COSINES]) g->gradients[COSINES] = table_gradient(g, &r, ons_make2(g, &ons_op_mul, dy, x));
    if (!g->wanted[SINES]) return NULL;
    ons_value_id quarter = ons_build(g->builder, &ons_op_rotation,
                                     ONS_IN(x, filled_table(g, &r, 0), filled_table(g, &r, 1)), ONS_WITH(size, pairs));
    g->gradients[SINES] = table_gradient(g, &r, ons_make2(g, &ons_op_mul, dy, quarter));
    return NULL;
}

ONS_DEFINE_OPERATOR(rotation, "Rotation", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("size", 0), ONS_INT_ATTRIBUTE("interleaved", 0),
                                   ONS_INT_ATTRIBUTE("inverse", 0)),
                    ONS_INFER(rotation_infer), ONS_COST(rotation_cost),
                    ONS_GRADIENT_RULE(rotation_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(COSINES) | ONS_INPUT_BIT(SINES), 0),
                    ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, X}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(NULL, ons_rotation_patterns, NULL), ONS_REFERENCE(rotation_reference));
