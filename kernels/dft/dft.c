/* DFT: the discrete Fourier transform along one axis. Forwards and one-sided, the first half of the frequencies;
 * inverse and one-sided, from that half back to a real signal. */
#include <math.h>

#include "graph/upgrade.h"
#include "kernels/common/operator/expand.h"
#include "kernels/signal/fourier.h"

enum { X, LENGTH, AXIS };

enum { INVERSE, ONESIDED };

typedef struct transform {
    uint32_t axis;
    int64_t length, outputs, parts;
    bool inverse, onesided;
} transform;

static ons_status *resolve_transform(const ons_operands *o, transform *t) {
    const ons_shape *x = &o->inputs[X].shape;
    int64_t numbers[ONS_INTEGERS_MAX], axis = -2;
    uint32_t count;
    ONS_TRY(ons_need_float(o, X));
    ONS_TRY(ons_constant_integers(o, AXIS, numbers, &count));
    if (count > 1) return ons_node_error(o, "the axis must be one number");
    if (count == 1) axis = numbers[0];
    if (x->rank < 2) return ons_node_error(o, "the input has rank %u; at least 2 is needed", x->rank);
    ONS_TRY(ons_node_axis(o, axis, x->rank, &t->axis));
    if (t->axis == x->rank - 1)
        return ons_node_error(o, "the last axis holds real and imaginary parts, not the signal");
    t->inverse = ons_attribute_int(o, INVERSE) != 0;
    t->onesided = ons_attribute_int(o, ONESIDED) != 0;
    t->length = t->inverse && t->onesided ? 2 * (x->dims[t->axis] - 1) : x->dims[t->axis];
    ONS_TRY(ons_constant_integers(o, LENGTH, numbers, &count));
    if (count > 1) return ons_node_error(o, "the length must be one number");
    if (count == 1) t->length = numbers[0];
    if (t->length < 1 || t->length > ONS_FOURIER_LENGTH_MAX)
        return ons_node_error(o, "a transform of length %lld", (long long)t->length);
    int64_t parts = x->dims[x->rank - 1];
    if (parts != 1 && parts != 2)
        return ons_node_error(o, "the last axis has size %lld; 1 (real) or 2 (complex) is needed", (long long)parts);
    if (t->onesided && !t->inverse && parts == 2)
        return ons_node_error(o, "a complex signal has no one-sided transform");
    t->outputs = t->onesided && !t->inverse ? t->length / 2 + 1 : t->length;
    t->parts = t->onesided && t->inverse ? 1 : 2;
    return NULL;
}

static ons_status *dft_infer(ons_operands *o) {
    transform t = {0};
    ONS_TRY(resolve_transform(o, &t));
    o->outputs[0] = o->inputs[X];
    o->outputs[0].shape.dims[t.axis] = t.outputs;
    o->outputs[0].shape.dims[o->inputs[X].shape.rank - 1] = t.parts;
    return NULL;
}

static ons_cost dft_cost(const ons_operands *o) {
    transform t = {0};
    ons_resolved(resolve_transform(o, &t));
    double lines = (double)ons_elements(&o->outputs[0]) / fmax((double)(t.outputs * t.parts), 1);
    return (ons_cost){floor(5 * lines * (double)t.length * log2((double)t.length)), ons_operand_bytes(o)};
}

/* How often a frequency of one side counts: those of the other side are the conjugates of all but the ends. */
static double weight_of(const transform *t, int64_t k) {
    return 2 * k > t->length ? 0 : k == 0 || 2 * k == t->length ? 1 : 2;
}

static ons_status *dft_expand(ons_replacement *m) {
    transform t = {0};
    ons_resolved(resolve_transform(m->operands, &t));
    ons_value_id x = m->inputs[X];
    if (t.inverse && t.onesided) {
        ons_type type = m->operands->inputs[X];
        int64_t count = type.shape.dims[t.axis];
        for (uint32_t i = 0; i < type.shape.rank; ++i) type.shape.dims[i] = i == t.axis ? count : 1;
        double *weights;
        ONS_NEW(weights, m->builder->graph->arena, (size_t)count + 1);
        for (int64_t k = 0; k < count; ++k) weights[k] = weight_of(&t, k);
        x = ons_expand2(m, &ons_op_mul, x, ons_build_constant(m->builder, m->operands->name, &type, weights));
    }
    return ons_expand_finish(
        m, ons_build(m->builder, &ons_op_fourier_transform, ONS_IN(x),
                     ONS_WITH(ONS_AT_INT(0, t.axis), ONS_AT_INT(1, t.length), ONS_AT_INT(2, t.inverse),
                              ONS_AT_INT(3, t.inverse), ONS_AT_INT(4, t.outputs), ONS_AT_INT(5, t.parts))));
}

static void dft_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    transform t = {0};
    ons_resolved(resolve_transform(o, &t));
    const ons_shape *shape = &o->inputs[X].shape;
    int64_t count = shape->dims[t.axis], parts = shape->dims[shape->rank - 1], outer = ons_shape_span(shape, 0, t.axis),
            inner = ons_shape_span(shape, t.axis + 1, shape->rank - 1);
    const double *x = inputs[X];
    double *y = outputs[0];
    for (int64_t line = 0; line < outer * inner; ++line)
        for (int64_t k = 0; k < t.outputs; ++k) {
            double re = 0, im = 0;
            for (int64_t i = 0; i < count && i < t.length; ++i) {
                double angle = (t.inverse ? 2 : -2) * M_PI * (double)(k * i % t.length) / (double)t.length;
                double weight = t.inverse && t.onesided ? weight_of(&t, i) : 1;
                const double *at = x + ((line / inner * count + i) * inner + line % inner) * parts;
                double a = at[0] * weight, b = parts == 2 ? at[1] * weight : 0;
                re += a * cos(angle) - b * sin(angle);
                im += a * sin(angle) + b * cos(angle);
            }
            double *to = y + ((line / inner * t.outputs + k) * inner + line % inner) * t.parts;
            to[0] = t.inverse ? re / (double)t.length : re;
            if (t.parts == 2) to[1] = t.inverse ? im / (double)t.length : im;
        }
}

/* Before opset 20 the axis was an attribute, 1 if not given. */
static ons_status *dft_upgrade(ons_upgrade *u) {
    if (u->opset >= 20) return NULL;
    if (ons_upgrade_find(u, "axis") == NULL)
        ONS_TRY(ons_upgrade_set(u, "axis", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1}));
    return ons_upgrade_attribute_to_input(u, "axis", AXIS, ONS_INT64);
}

const ons_operator ons_op_dft = {"DFT",
                                 ONS_ONNX(17, ONS_NEWEST),
                                 ONS_ARITY(1, 3, 1, 1),
                                 ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("inverse", 0), ONS_INT_ATTRIBUTE("onesided", 0)),
                                 dft_infer,
                                 dft_cost,
                                 ONS_EXPANSION_GRADIENT(ONS_INPUT_BIT(X)),
                                 ONS_SAVES_NOTHING,
                                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_EXPANDS, 0),
                                 ONS_NO_ALIASES,
                                 ONS_PLAIN_LAYOUT,
                                 ONS_FORMS(dft_upgrade, ONS_NO_PATTERNS, dft_expand),
                                 dft_reference};
