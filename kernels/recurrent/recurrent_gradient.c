/* The gradient of LSTM, GRU and RNN, by attribute `cell` (the number of gates): from X, W, R, P, the lengths, the
 * record of the forward run (kernels/recurrent/recurrent.h) and the cotangents of Y, Y_h and Y_c the gradients of X, W,
 * R, B, the initial states and P, and of what enters the gates. */
#include "kernels/recurrent/recurrent_gradient.h"

#include "kernels/recurrent/recurrent.h"

static ons_status *recurrent_gradient_infer(ons_operands *o) {
    ons_recurrent r;
    if (cell_of(o) != ONS_CELL_RNN && cell_of(o) != ONS_CELL_GRU && cell_of(o) != ONS_CELL_LSTM)
        return ons_node_error(o, "no cell has %lld gates", (long long)ons_attribute_int(o, ONS_RECURRENT_CELL));
    ONS_TRY(ons_recurrent_of(o, cell_of(o), &r));
    if (ons_elements(&o->inputs[ONS_RG_RECORD]) != r.record)
        return ons_node_error(o, "the record has %lld elements, not %lld",
                              (long long)ons_elements(&o->inputs[ONS_RG_RECORD]), (long long)r.record);
    ons_dtype dtype = o->inputs[ONS_RG_X].dtype;
    const ons_type types[ONS_RG_OUTPUTS] = {
        [ONS_RG_DX] = o->inputs[ONS_RG_X],
        [ONS_RG_DW] = o->inputs[ONS_RG_W],
        [ONS_RG_DR] = o->inputs[ONS_RG_R],
        [ONS_RG_DB] = ons_type_make(dtype, (ons_shape){2, {r.directions, 2 * r.rows}}),
        [ONS_RG_DH0] = ons_recurrent_state_type(&r, dtype),
        [ONS_RG_BEFORE] = o->inputs[ONS_RG_RECORD],
        [ONS_RG_DC0] = r.cell == ONS_CELL_LSTM ? ons_recurrent_state_type(&r, dtype) : (ons_type){0},
        [ONS_RG_DP] = ons_has_input(o, ONS_RG_P) ? o->inputs[ONS_RG_P] : (ons_type){0},
    };
    for (uint32_t i = 0; i < ONS_RG_OUTPUTS && i < o->output_count; ++i) o->outputs[i] = types[i];
    return NULL;
}

static ons_cost recurrent_gradient_cost(const ons_operands *o) { return ons_recurrent_cost(o, cell_of(o), 2); }

static void recurrent_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_recurrent_gradient_reference(o, cell_of(o), inputs, outputs);
}

ONS_DEFINE_OPERATOR(recurrent_gradient, "RecurrentGradient", ONS_INTERNAL, ONS_ARITY(4, 9, 1, ONS_RG_OUTPUTS),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES, ONS_INT_ATTRIBUTE("variant", 0),
                                   ONS_REQUIRED_ATTRIBUTE("cell", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(recurrent_gradient_infer), ONS_COST(recurrent_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, ONS_RG_BEFORE, ONS_RG_RECORD}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(recurrent_gradient_reference));
