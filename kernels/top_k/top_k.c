/* TopK: the k largest (or smallest) elements along an axis, and their indices. Of equal elements the one with the
 * smaller index comes first; a NaN counts as the largest number, as in PyTorch. Results are sorted whether asked for or
 * not. */
#include "kernels/top_k/top_k_node.h"

#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

ons_status *ons_top_k_make_state(const ons_operands *o, ons_top_k *s) {
    const ons_shape *shape = &o->inputs[DATA].shape;
    int64_t counts[ONS_INTEGERS_MAX];
    uint32_t number, axis;
    ONS_TRY(ons_constant_integers(o, COUNT, counts, &number));
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape->rank, &axis));
    if (number != 1 || counts[0] < 0 || counts[0] > shape->dims[axis])
        return ons_node_error(o, "k must be one number from 0 to the %lld elements of the axis",
                              (long long)shape->dims[axis]);
    *s = (ons_top_k){ons_shape_span(shape, 0, axis), shape->dims[axis], ons_shape_span(shape, axis + 1, shape->rank),
                     counts[0], ons_attribute_int(o, LARGEST) != 0};
    return NULL;
}

static ons_status *top_k_infer(ons_operands *o) {
    ons_top_k s;
    uint32_t axis = 0;
    ONS_TRY(ons_top_k_make_state(o, &s));
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[DATA].shape.rank, &axis);
    o->outputs[0] = o->inputs[DATA];
    o->outputs[0].shape.dims[axis] = s.k;
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_INT64, o->outputs[0].shape);
    return NULL;
}

/* Whether word `a` comes before word `b` by value. */
static bool precedes(ons_dtype dtype, bool largest, const void *words, int64_t a, int64_t b) {
    if (ons_dtype_is_float(dtype)) {
        double x = ((const double *)words)[a], y = ((const double *)words)[b];
        bool x_nan = x != x, y_nan = y != y;
        if (x_nan || y_nan) return largest ? x_nan && !y_nan : y_nan && !x_nan;
        return largest ? x > y : x < y;
    }
    int64_t x = ((const int64_t *)words)[a], y = ((const int64_t *)words)[b];
    if (dtype == ONS_UINT64) return largest ? (uint64_t)x > (uint64_t)y : (uint64_t)x < (uint64_t)y;
    return largest ? x > y : x < y;
}

/* The next after `last` (-1: the first) in the order of value and index. */
static int64_t next_after(const ons_operands *o, const ons_top_k *s, const void *words, int64_t begin, int64_t last) {
    ons_dtype dtype = o->inputs[DATA].dtype;
    int64_t best = -1;
    for (int64_t i = 0; i < s->length; ++i) {
        int64_t at = begin + i * s->inner, before = begin + last * s->inner;
        bool taken = last >= 0 && (precedes(dtype, s->largest, words, at, before) ||
                                   (i <= last && !precedes(dtype, s->largest, words, before, at)));
        if (!taken && (best < 0 || precedes(dtype, s->largest, words, at, begin + best * s->inner))) best = i;
    }
    return best;
}

static void top_k_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_top_k s = {0};
    ons_resolved(ons_top_k_make_state(o, &s));
    for (int64_t line = 0; line < s.outer * s.inner; ++line) {
        int64_t begin = line / s.inner * s.length * s.inner + line % s.inner, last = -1;
        for (int64_t k = 0; k < s.k; ++k) {
            int64_t to = (line / s.inner * s.k + k) * s.inner + line % s.inner;
            last = next_after(o, &s, inputs[DATA], begin, last);
            memcpy((char *)outputs[0] + 8 * to, (const char *)inputs[DATA] + 8 * (begin + last * s.inner), 8);
            if (ons_has_output(o, 1)) ((int64_t *)outputs[1])[to] = last;
        }
    }
}

static ons_status *top_k_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_elements_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

/* k was an attribute before opset 10. */
static ons_status *top_k_upgrade(ons_upgrade *u) { return ons_upgrade_attribute_to_input(u, "k", COUNT, ONS_INT64); }

ONS_DEFINE_OPERATOR(top_k, "TopK", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("largest", 1),
                                   ONS_INT_ATTRIBUTE("sorted", 1)),
                    ONS_INFER(top_k_infer), ONS_COST(ons_cost_each_input),
                    ONS_GRADIENT_RULE(top_k_gradient, ONS_INPUT_BIT(DATA)), ONS_SAVES(0, ONS_INPUT_BIT(1)),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(top_k_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(top_k_reference));
