/* CausalConvWithState: every channel of a sequence is convolved with a kernel of its own that looks at this position
 * and those before it. What lies before the sequence is the state of an earlier call, or zeros; the last positions are
 * the state for the next. */
#include <math.h>
#include <string.h>

#include "graph/passes/replacement.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

enum { ACTIVATION };

enum { X, W, BIAS, PAST };

enum { Y, PRESENT };

typedef struct sizes {
    int64_t batch, channels, length, taps;
    bool activates;
} sizes;

static bool has_dims(const ons_type *type, int64_t a, int64_t b, int64_t c) {
    ons_shape shape = {.rank = 3, .dims = {a, b, c}};
    return ons_shape_equal(&type->shape, &shape);
}

static ons_status *find_sizes(const ons_operands *o, sizes *s) {
    const ons_shape *x = &o->inputs[X].shape, *w = &o->inputs[W].shape;
    const char *activation = ons_attribute_string(o, ACTIVATION);
    ONS_TRY(ons_need_float(o, X));
    if (x->rank != 3 || w->rank != 3)
        return ons_node_error(o, "needs an input (batch, channels, length) and a weight (channels, 1, taps)");
    *s = (sizes){x->dims[0], x->dims[1], x->dims[2], w->dims[2], strcmp(activation, "none") != 0};
    if (s->taps < 1 || !has_dims(&o->inputs[W], s->channels, 1, s->taps))
        return ons_node_error(o, "the weight does not fit %lld channels", (long long)s->channels);
    if (ons_has_input(o, BIAS) && (o->inputs[BIAS].shape.rank != 1 || o->inputs[BIAS].shape.dims[0] != s->channels))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)s->channels);
    if (ons_has_input(o, PAST) && !has_dims(&o->inputs[PAST], s->batch, s->channels, s->taps - 1))
        return ons_node_error(o, "the state must hold the %lld positions before the sequence", (long long)s->taps - 1);
    for (uint32_t i = W; i <= PAST; ++i)
        if (ons_has_input(o, i) && o->inputs[i].dtype != o->inputs[X].dtype)
            return ons_node_error(o, "input %u has another element type than the first", i);
    if (s->activates && strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0)
        return ons_node_error(o, "activation '%s' is not one of none, silu, swish", activation);
    return NULL;
}

static ons_status *causal_conv_with_state_infer(ons_operands *o) {
    sizes s;
    ONS_TRY(find_sizes(o, &s));
    ons_shape state = {.rank = 3, .dims = {s.batch, s.channels, s.taps - 1}};
    ONS_TRY_AT(ons_shape_check(&state), "node '%s'", o->name);
    o->outputs[Y] = o->inputs[X];
    if (o->output_count > PRESENT) o->outputs[PRESENT] = ons_type_make(o->inputs[X].dtype, state);
    return NULL;
}

static ons_cost causal_conv_with_state_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[X]) * (double)o->inputs[W].shape.dims[2],
                      ons_operand_bytes(o)};
}

/* The state in front of the sequence. */
static ons_value_id join(ons_replacement *m, const sizes *s) {
    ons_builder *b = m->builder;
    ons_value_id past = ons_has_input(m->operands, PAST) ? m->inputs[PAST] : ONS_NONE;
    if (past == ONS_NONE) {
        int64_t dims[] = {s->batch, s->channels, s->taps - 1};
        ons_value_id zero = ons_build_scalar(b, m->operands->inputs[X].dtype, 0);
        past = ons_build(b, &ons_op_expand, ONS_IN(zero, ons_build_integers(b, dims, 3)), ONS_DEFAULTS);
    }
    return ons_build(b, &ons_op_concat, ONS_IN(past, m->inputs[X]), ONS_WITH(ONS_AT_INT(0, 2)));
}

static ons_status *causal_conv_with_state_expand(ons_replacement *m) {
    enum { CONV_PADS = 3, CONV_GROUP = 5 };
    const ons_operands *o = m->operands;
    ons_builder *b = m->builder;
    sizes s;
    ons_resolved(find_sizes(o, &s));
    bool state_wanted = o->output_count > PRESENT && m->outputs_used[PRESENT];
    bool joined = s.taps > 1 && (ons_has_input(o, PAST) || state_wanted);
    ons_value_id sequence = joined ? join(m, &s) : m->inputs[X];
    int64_t pads[] = {joined ? 0 : s.taps - 1, 0};
    ons_value_id bias = ons_has_input(o, BIAS) ? m->inputs[BIAS] : ONS_NONE;
    m->outputs[Y] = ons_build(b, &ons_op_conv, ONS_IN(sequence, m->inputs[W], bias),
                              ONS_WITH(ONS_AT_INTS(CONV_PADS, 2, pads), ONS_AT_INT(CONV_GROUP, s.channels)));
    if (s.activates) m->outputs[Y] = ons_build(b, &ons_op_swish, ONS_IN(m->outputs[Y]), ONS_DEFAULTS);
    if (state_wanted) {
        int64_t start = s.length, end = s.length + s.taps - 1, axis = 2;
        m->outputs[PRESENT] = ons_build(b, &ons_op_slice,
                                        ONS_IN(sequence, ons_build_integers(b, &start, 1),
                                               ons_build_integers(b, &end, 1), ons_build_integers(b, &axis, 1)),
                                        ONS_DEFAULTS);
    }
    m->replaced = true;
    return NULL;
}

/* Position `at` of the sequence with the state in front of it, from -(taps - 1) on. */
static double value_at(const sizes *s, const double *x, const double *past, int64_t row, int64_t at) {
    if (at >= 0) return x[row * s->length + at];
    return past != NULL ? past[(row + 1) * (s->taps - 1) + at] : 0;
}

static void causal_conv_with_state_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    sizes s = {0};
    ons_resolved(find_sizes(o, &s));
    const double *x = inputs[X], *w = inputs[W], *bias = ons_has_input(o, BIAS) ? inputs[BIAS] : NULL;
    const double *past = ons_has_input(o, PAST) ? inputs[PAST] : NULL;
    double *y = outputs[Y], *present = o->output_count > PRESENT ? outputs[PRESENT] : NULL;
    for (int64_t row = 0; row < s.batch * s.channels; ++row) {
        int64_t channel = row % s.channels;
        for (int64_t at = 0; at < s.length; ++at) {
            double sum = bias != NULL ? bias[channel] : 0;
            for (int64_t tap = 0; tap < s.taps; ++tap)
                sum += w[channel * s.taps + tap] * value_at(&s, x, past, row, at + tap - (s.taps - 1));
            y[row * s.length + at] = s.activates ? sum / (1 + exp(-sum)) : sum;
        }
        for (int64_t i = 0; present != NULL && i < s.taps - 1; ++i)
            present[row * (s.taps - 1) + i] = value_at(&s, x, past, row, s.length - (s.taps - 1) + i);
    }
}

ONS_DEFINE_EXPANSION(causal_conv_with_state, "CausalConvWithState", ONS_ONNX(27, ONS_NEWEST), ONS_ARITY(2, 4, 1, 2),
                     ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("activation", "none")), causal_conv_with_state_infer,
                     causal_conv_with_state_cost, ONS_ALL_INPUTS, causal_conv_with_state_expand,
                     causal_conv_with_state_reference);
