#include "kernels/common/elementwise/variadic.h"

#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ons_cost ons_cost_variadic(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->outputs[0]) * (o->input_count - 1), ons_operand_bytes(o)};
}

ons_status *ons_gradient_of_chosen(ons_gradient *g) {
    uint32_t count = g->operands->input_count;
    ons_value_id *chosen; /* of each input: 1 where it is the result */
    ONS_NEW(chosen, g->builder->graph->arena, count);
    ons_value_id total = ONS_NONE;
    ons_setting type = ONS_AT_INT(0, g->operands->outputs[0].dtype);
    for (uint32_t i = 0; i < count; ++i) {
        ons_value_id equal = ons_make2(g, &ons_op_equal, ons_gradient_input(g, i), ons_gradient_output(g, 0));
        chosen[i] = ons_build(g->builder, &ons_op_cast, ONS_IN(equal), (ons_settings){&type, 1});
        total = i == 0 ? chosen[i] : ons_make2(g, &ons_op_add, total, chosen[i]);
    }
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], total);
    for (uint32_t i = 0; i < count; ++i)
        if (g->wanted[i]) g->gradients[i] = ons_make2(g, &ons_op_mul, share, chosen[i]);
    return NULL;
}

void ons_variadic_each(const ons_operands *o, const void *const *inputs, void *const *outputs,
                       const ons_variadic_words *formulas) {
    const ons_shape *shape = &o->outputs[0].shape;
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {
        uint64_t total = ((const uint64_t *)inputs[0])[ons_broadcast_index(shape, &o->inputs[0].shape, i)];
        for (uint32_t k = 1; k < o->input_count; ++k)
            formulas->join(&total, inputs[k], ons_broadcast_index(shape, &o->inputs[k].shape, i));
        formulas->finish(o, &total, o->input_count, outputs[0], i);
    }
}
