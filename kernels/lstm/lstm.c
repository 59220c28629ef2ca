/* LSTM. With the gates i, o, f and c of W x + R h + Wb + Rb (and the peepholes P of the cell state):
 *   C = f(f) C' + f(i) g(c),   H = f(o) h(C) */
#include "kernels/recurrent/recurrent.h"

static ons_status *lstm_infer(ons_operands *o) { return ons_recurrent_infer(o, ONS_CELL_LSTM); }

static ons_cost lstm_cost(const ons_operands *o) { return ons_recurrent_cost(o, ONS_CELL_LSTM, 1); }

static void lstm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    ons_recurrent_reference(o, step, ONS_CELL_LSTM, inputs, outputs);
}

static ons_status *lstm_gradient(ons_gradient *g) { return ons_recurrent_gradient(g, ONS_CELL_LSTM); }

static ons_value_id lstm_in_order(ons_match *match) { return ons_recurrent_take_order(match, ONS_CELL_LSTM); }

ONS_DEFINE_OPERATOR(lstm, "LSTM", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 8, 0, 4),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES, ONS_INT_ATTRIBUTE("input_forget", 0)),
                    ONS_INFER(lstm_infer), ONS_COST(lstm_cost),
                    ONS_GRADIENT_RULE(lstm_gradient, ONS_ALL_INPUTS & ~ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS)),
                    ONS_SAVES(ONS_INPUT_BIT(ONS_RECURRENT_X) | ONS_INPUT_BIT(ONS_RECURRENT_W) |
                                  ONS_INPUT_BIT(ONS_RECURRENT_R) | ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS) |
                                  ONS_INPUT_BIT(ONS_RECURRENT_P),
                              ONS_INPUT_BIT(3)),
                    ONS_RECURRENT_CELL(ONS_INPUT_BIT(ONS_RECURRENT_H0) | ONS_INPUT_BIT(ONS_RECURRENT_C0)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_recurrent_upgrade, ONS_PATTERNS({"LSTM(x, w, r)", lstm_in_order}), NULL),
                    ONS_REFERENCE(lstm_reference));
