#include "kernels/optimizers/training_update.h"

#include "kernels/operators.h"

enum { RATE, COUNT, FIRST };

/* How many tensors there are; groups are X, G and the states. */
static uint32_t tensors_of(const ons_operands *o, uint32_t states) { return (o->input_count - FIRST) / (2 + states); }

static ons_status *check_scalar(const ons_operands *o, uint32_t input) {
    const ons_shape *shape = &o->inputs[input].shape;
    if (shape->rank > 1 || ons_shape_elements(shape) != 1)
        return ons_node_error(o, "input %u must be one number", input);
    return NULL;
}

ons_status *ons_update_infer(ons_operands *o, uint32_t states) {
    if (o->input_count <= FIRST || (o->input_count - FIRST) % (2 + states) != 0)
        return ons_node_error(o,
                              "%u inputs are not a rate, a count and the same number of tensors, gradients and states",
                              o->input_count);
    uint32_t tensors = tensors_of(o, states);
    ONS_TRY(ons_need_float(o, RATE));
    ONS_TRY(check_scalar(o, RATE));
    ONS_TRY(check_scalar(o, COUNT));
    if (o->inputs[COUNT].dtype != ONS_INT64) return ons_node_error(o, "the count of updates must be int64");
    for (uint32_t i = 0; i < tensors; ++i) {
        ONS_TRY(ons_need_float(o, FIRST + i));
        for (uint32_t group = 1; group < 2 + states; ++group)
            if (!ons_type_equal(&o->inputs[FIRST + i], &o->inputs[FIRST + group * tensors + i]))
                return ons_node_error(o, "tensor %u and its gradient and states differ in type", i);
    }
    if (o->output_count > tensors * (1 + states))
        return ons_node_error(o, "it has %u outputs; %u tensors have %u", o->output_count, tensors,
                              tensors * (1 + states));
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = o->inputs[FIRST + i % tensors];
    return NULL;
}

/* About ten operations an element of every tensor. */
ons_cost ons_update_cost(const ons_operands *o) {
    double elements = 0;
    for (uint32_t i = 0; i < o->output_count; ++i)
        elements += ons_has_output(o, i) ? (double)ons_elements(&o->outputs[i]) : 0;
    return (ons_cost){10 * elements, ons_operand_bytes(o)};
}

ons_status *ons_update_expand(ons_replacement *m, uint32_t states,
                              void (*step)(ons_replacement *m, ons_update_values *v)) {
    uint32_t tensors = tensors_of(m->operands, states);
    ons_value_id count = ons_expand_reshape(m, m->inputs[COUNT], 0, NULL);
    ons_value_id rate = ons_expand_reshape(m, m->inputs[RATE], 0, NULL);
    for (uint32_t i = 0; i < tensors; ++i) {
        ons_dtype dtype = m->operands->inputs[FIRST + i].dtype;
        ons_update_values v = {.rate = ons_expand_cast(m, rate, dtype),
                               .count = count,
                               .x = m->inputs[FIRST + i],
                               .gradient = m->inputs[FIRST + tensors + i]};
        for (uint32_t s = 0; s < states; ++s) v.states[s] = m->inputs[FIRST + (2 + s) * tensors + i];
        step(m, &v);
        if (i < m->operands->output_count) m->outputs[i] = v.x;
        for (uint32_t s = 0; s < states; ++s)
            if ((1 + s) * tensors + i < m->operands->output_count) m->outputs[(1 + s) * tensors + i] = v.states[s];
    }
    m->replaced = true;
    return NULL;
}

void ons_update_reference(const ons_operands *o, uint32_t states, const void *const *inputs, void *const *outputs,
                          void (*step)(const ons_operands *o, ons_update_numbers *v)) {
    uint32_t tensors = tensors_of(o, states);
    for (uint32_t i = 0; i < tensors; ++i)
        for (int64_t e = 0, n = ons_elements(&o->inputs[FIRST + i]); e < n; ++e) {
            ons_update_numbers v = {.rate = *(const double *)inputs[RATE],
                                    .count = *(const int64_t *)inputs[COUNT],
                                    .x = ((const double *)inputs[FIRST + i])[e],
                                    .gradient = ((const double *)inputs[FIRST + tensors + i])[e]};
            for (uint32_t s = 0; s < states; ++s)
                v.states[s] = ((const double *)inputs[FIRST + (2 + s) * tensors + i])[e];
            step(o, &v);
            for (uint32_t s = 0; s <= states; ++s) {
                uint32_t output = s * tensors + i;
                if (ons_has_output(o, output) && outputs[output] != NULL)
                    ((double *)outputs[output])[e] = s == 0 ? v.x : v.states[s - 1];
            }
        }
}

ons_value_id ons_update_regularized(ons_replacement *m, const ons_update_values *v, double factor) {
    return factor == 0 ? v->gradient : ons_update_blend(m, factor, v->x, 1, v->gradient);
}

ons_value_id ons_update_blend(ons_replacement *m, double factor, ons_value_id a, double other, ons_value_id b) {
    return ons_expand2(m, &ons_op_add, ons_expand_scale(m, a, factor), ons_expand_scale(m, b, other));
}

ons_value_id ons_update_if_counted(ons_replacement *m, const ons_update_values *v, ons_value_id then,
                                   ons_value_id otherwise) {
    ons_value_id counted = ons_expand2(m, &ons_op_greater, v->count, ons_build_scalar(m->builder, ONS_INT64, 0));
    return ons_build(m->builder, &ons_op_where, ONS_IN(counted, then, otherwise), ONS_DEFAULTS);
}
