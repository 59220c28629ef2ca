#include "kernels/common/operator/expand.h"

#include <string.h>

#include "graph/operands.h"

ons_value_id ons_expand_scalar_like(ons_replacement *m, ons_value_id x, double value) {
    return ons_build_scalar(m->builder, ons_builder_type(m->builder, x).dtype, value);
}

ons_value_id ons_expand_scale(ons_replacement *m, ons_value_id x, double factor) {
    return factor == 1 ? x : ons_expand2(m, &ons_op_mul, x, ons_expand_scalar_like(m, x, factor));
}

ons_value_id ons_expand_reshape(ons_replacement *m, ons_value_id x, uint32_t rank, const int64_t *dims) {
    ons_value_id shape = ons_build_integers(m->builder, dims, rank);
    return ons_build(m->builder, &ons_op_reshape, ONS_IN(x, shape), ONS_WITH(ONS_AT_INT(0, 1)));
}

ons_value_id ons_expand_transpose(ons_replacement *m, ons_value_id x, uint32_t rank, const int64_t *order) {
    return ons_build(m->builder, &ons_op_transpose, ONS_IN(x), ONS_WITH(ONS_AT_INTS(0, rank, order)));
}

ons_value_id ons_expand_concat(ons_replacement *m, ons_value_id a, ons_value_id b, int64_t axis) {
    return ons_build(m->builder, &ons_op_concat, ONS_IN(a, b), ONS_WITH(ONS_AT_INT(0, axis)));
}

ons_value_id ons_expand_cast(ons_replacement *m, ons_value_id x, ons_dtype dtype) {
    if (ons_builder_type(m->builder, x).dtype == dtype) return x;
    return ons_build(m->builder, &ons_op_cast, ONS_IN(x), ONS_WITH(ONS_AT_INT(0, dtype)));
}

ons_value_id ons_expand_slice(ons_replacement *m, ons_value_id x, int64_t axis, int64_t begin, int64_t end) {
    ons_value_id from = ons_build_integers(m->builder, &begin, 1), to = ons_build_integers(m->builder, &end, 1);
    return ons_build(m->builder, &ons_op_slice, ONS_IN(x, from, to, ons_build_integers(m->builder, &axis, 1)),
                     ONS_DEFAULTS);
}

ons_value_id ons_expand_range(ons_replacement *m, int64_t begin, int64_t count, uint32_t rank, const int64_t *dims) {
    int64_t *numbers = ons_arena_allocate(m->builder->graph->arena, (size_t)count, sizeof *numbers);
    if (numbers == NULL) {
        ons_builder_fail(m->builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < count; ++i) numbers[i] = begin + i;
    ons_type type = ons_type_make(ONS_INT64, ons_shape_make(rank, dims));
    return ons_build_constant(m->builder, m->operands->name, &type, numbers);
}

ons_status *ons_expand_other(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                             uint32_t count, ons_value_id *outputs) {
    ons_arena *arena = m->builder->graph->arena;
    uint32_t declared = ons_operator_attributes(op);
    ons_attribute *attributes;
    ons_operands operands;
    ons_value_id *made;
    bool *used;
    ONS_TRY(ons_builder_finish(m->builder)); /* the inputs are there */
    ONS_NEW(attributes, arena, declared + 1);
    for (uint32_t i = 0; i < declared; ++i) attributes[i] = op->attributes[i].default_value;
    for (uint32_t i = 0; i < settings.count; ++i) attributes[settings.items[i].index] = settings.items[i].value;
    ONS_TRY(ons_operands_make(m->builder->graph, op, m->operands->name, attributes, inputs.ids, inputs.count, count,
                              arena, &operands));
    ONS_TRY(ons_operands_infer(&operands));
    ONS_NEW(made, arena, operands.output_count + 8); /* an expansion may be generous */
    ONS_NEW(used, arena, operands.output_count + 8);
    for (uint32_t i = 0; i < operands.output_count; ++i) used[i] = i < count;
    ons_replacement other = *m;
    other.operands = &operands;
    other.inputs = inputs.ids;
    other.outputs = made;
    other.outputs_used = used;
    ONS_TRY(op->forms.decompose(&other));
    memcpy(outputs, made, count * sizeof *outputs);
    return NULL;
}

ons_status *ons_expand_finish(ons_replacement *m, ons_value_id result) {
    m->outputs[0] = result;
    m->replaced = true;
    return NULL;
}
