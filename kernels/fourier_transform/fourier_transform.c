/* The transform that DFT and STFT are made of, and whose gradient is one of the same kind.
 *
 *   y[k] = factor × Σ x[t] e^(∓2πikt / length)     t < length; an x that ends earlier goes on with zeros
 *
 * along one axis; the last axis holds the real and the imaginary part, or the real one alone. `outputs` of the y are
 * wanted (zeros from `length` on), with `parts` of them 1 or 2. Its transpose exchanges inputs with outputs and turns
 * the other way. */
#include "kernels/fourier_transform/fourier_transform_node.h"

#include <math.h>

#include "kernels/common/operator/checks.h"
#include "kernels/operators.h"
#include "kernels/signal/fourier.h"

enum { AXIS, LENGTH, BACKWARDS, SCALED, OUTPUTS, PARTS };

/* The tables of a length that is no power of two take several times the memory. */
enum { LONGEST = 1 << 19, LONGEST_POWER = 1 << 22 };

ons_status *ons_fourier_transform_resolve(const ons_operands *o, ons_fourier_sizes *s, uint32_t *axis) {
    const ons_shape *x = &o->inputs[0].shape;
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), x->rank, axis));
    if (*axis + 1 >= x->rank) return ons_node_error(o, "the last axis holds real and imaginary parts, not the signal");
    *s = (ons_fourier_sizes){.outer = ons_shape_span(x, 0, *axis),
                             .inner = ons_shape_span(x, *axis + 1, x->rank - 1),
                             .inputs = x->dims[*axis],
                             .outputs = ons_attribute_int(o, OUTPUTS),
                             .length = ons_attribute_int(o, LENGTH),
                             .in_parts = x->dims[x->rank - 1],
                             .out_parts = ons_attribute_int(o, PARTS),
                             .backwards = ons_attribute_int(o, BACKWARDS) != 0};
    if (s->length < 1 || s->length > ONS_FOURIER_LENGTH_MAX || s->outputs < 0)
        return ons_node_error(o, "a transform of length %lld", (long long)s->length);
    bool is_power = (s->length & (s->length - 1)) == 0;
    if (s->length > (is_power ? LONGEST_POWER : LONGEST))
        return ons_status_new(ONS_UNSUPPORTED,
                              "node '%s' (%s): a transform of length %lld; at most %d, or %d if that is a power of "
                              "two, can be computed: transform shorter pieces",
                              o->name, o->op->name, (long long)s->length, LONGEST, LONGEST_POWER);
    if (s->in_parts < 1 || s->in_parts > 2 || s->out_parts < 1 || s->out_parts > 2)
        return ons_node_error(o, "the last axis has size %lld; 1 (real) or 2 (complex) is needed",
                              (long long)s->in_parts);
    s->factor = ons_attribute_int(o, SCALED) != 0 ? 1 / (double)s->length : 1;
    return NULL;
}

static ons_status *fourier_transform_infer(ons_operands *o) {
    ons_fourier_sizes s;
    uint32_t axis;
    ONS_TRY(ons_fourier_transform_resolve(o, &s, &axis));
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape.dims[axis] = s.outputs;
    o->outputs[0].shape.dims[o->inputs[0].shape.rank - 1] = s.out_parts;
    return NULL;
}

/* 5 n log₂ n for each line. */
static ons_cost fourier_transform_cost(const ons_operands *o) {
    ons_fourier_sizes s;
    uint32_t axis;
    ons_resolved(ons_fourier_transform_resolve(o, &s, &axis));
    return (ons_cost){floor(5 * (double)(s.outer * s.inner) * (double)s.length * log2((double)s.length)),
                      ons_operand_bytes(o)};
}

static void fourier_transform_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_fourier_sizes s;
    uint32_t axis;
    ons_resolved(ons_fourier_transform_resolve(o, &s, &axis));
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t line = 0; line < s.outer * s.inner; ++line)
        for (int64_t k = 0; k < s.outputs; ++k) {
            double re = 0, im = 0;
            for (int64_t t = 0; k < s.length && t < s.inputs && t < s.length; ++t) {
                double angle = (s.backwards ? 2 : -2) * M_PI * (double)(k * t % s.length) / (double)s.length;
                double a = x[place(&s, line, s.inputs, s.in_parts, t, 0)];
                double b = s.in_parts == 2 ? x[place(&s, line, s.inputs, s.in_parts, t, 1)] : 0;
                re += a * cos(angle) - b * sin(angle);
                im += a * sin(angle) + b * cos(angle);
            }
            y[place(&s, line, s.outputs, s.out_parts, k, 0)] = re * s.factor;
            if (s.out_parts == 2) y[place(&s, line, s.outputs, s.out_parts, k, 1)] = im * s.factor;
        }
}

static ons_status *fourier_transform_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_fourier_sizes s;
    uint32_t axis;
    ons_resolved(ons_fourier_transform_resolve(o, &s, &axis));
    g->gradients[0] =
        ons_build(g->builder, &ons_op_fourier_transform, ONS_IN(g->cotangents[0]),
                  ONS_WITH(ONS_AT_INT(AXIS, axis), ONS_AT_INT(LENGTH, s.length), ONS_AT_INT(BACKWARDS, !s.backwards),
                           ONS_AT_INT(SCALED, ons_attribute_int(o, SCALED)), ONS_AT_INT(OUTPUTS, s.inputs),
                           ONS_AT_INT(PARTS, s.in_parts)));
    return NULL;
}

ONS_DEFINE_OPERATOR(fourier_transform, "FourierTransform", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("length", ONS_ATTRIBUTE_INT),
                                   ONS_INT_ATTRIBUTE("backwards", 0), ONS_INT_ATTRIBUTE("scaled", 0),
                                   ONS_REQUIRED_ATTRIBUTE("outputs", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("parts", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(fourier_transform_infer), ONS_COST(fourier_transform_cost),
                    ONS_GRADIENT_RULE(fourier_transform_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(fourier_transform_reference));
