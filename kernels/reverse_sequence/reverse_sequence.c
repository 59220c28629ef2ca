/* ReverseSequence: of every sample the first sequence_lens[sample] steps in reverse order, the others as they are. */
#include "kernels/reverse_sequence/reverse_sequence_node.h"

#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

static ons_status *reverse_sequence_infer(ons_operands *o) {
    const ons_shape *shape = &o->inputs[DATA].shape, *lengths = &o->inputs[LENGTHS].shape;
    int64_t batch = ons_attribute_int(o, BATCH_AXIS), time = ons_attribute_int(o, TIME_AXIS);
    if (shape->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        return ons_node_error(o, "needs rank 2 or more, and axes 0 and 1 as batch and time");
    if (o->inputs[LENGTHS].dtype != ONS_INT64)
        return ons_node_error(o, "lengths must be int64, not %s", ons_dtype_name(o->inputs[LENGTHS].dtype));
    if (lengths->rank != 1 || lengths->dims[0] != shape->dims[batch])
        return ons_node_error(o, "needs one length for each of the %lld samples", (long long)shape->dims[batch]);
    const int64_t *known = o->constants[LENGTHS].data;
    for (int64_t i = 0; known != NULL && i < lengths->dims[0]; ++i)
        if (known[i] < 0 || known[i] > shape->dims[time])
            return ons_node_error(o, "length %lld lies outside of the %lld steps", (long long)known[i],
                                  (long long)shape->dims[time]);
    o->outputs[0] = o->inputs[DATA];
    return NULL;
}

bool ons_reverse_sequence_copy_slice(const ons_reverse_sequence *s, int64_t number, const int64_t *lengths,
                                     const char *from, char *to) {
    int64_t row = number / s->columns, column = number % s->columns;
    int64_t sample = s->batch_first ? row : column, time = s->batch_first ? column : row;
    int64_t length = lengths[sample];
    bool valid = length >= 0 && length <= (s->batch_first ? s->columns : s->rows);
    int64_t source = valid && time < length ? length - 1 - time : time;
    int64_t at = s->batch_first ? row * s->columns + source : source * s->columns + column;
    memcpy(to + number * s->slice, from + at * s->slice, (size_t)s->slice);
    return valid;
}

static void reverse_sequence_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    ons_reverse_sequence s = make_state(o, 8);
    for (int64_t i = 0; i < s.slices; ++i)
        ons_reverse_sequence_copy_slice(&s, i, inputs[LENGTHS], inputs[DATA], outputs[0]);
    const int64_t *lengths = inputs[LENGTHS];
    for (int64_t i = 0, n = s.batch_first ? s.rows : s.columns; i < n; ++i)
        if (lengths[i] < 0 || lengths[i] > (s.batch_first ? s.columns : s.rows))
            ons_reference_fault(step, ONS_REVERSE_SEQUENCE_PROBLEM, i, lengths[i]);
}

/* What reverses also reverses back. */
static ons_status *reverse_sequence_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_reverse_sequence, ONS_IN(g->cotangents[0], ons_gradient_input(g, LENGTHS)),
                        g->operands->attributes, 1, NULL, &g->gradients[DATA]);
    return NULL;
}

ONS_DEFINE_OPERATOR(reverse_sequence, "ReverseSequence", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_axis", 1), ONS_INT_ATTRIBUTE("time_axis", 0)),
                    ONS_INFER(reverse_sequence_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(reverse_sequence_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(LENGTHS), 0), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(reverse_sequence_reference));
