/* GRU. With z = f(W_z x + R_z h + b), r likewise, and
 *   n = g(W_h x + Wb_h + R_h (r h) + Rb_h), or with linear_before_reset g(W_h x + Wb_h + r (R_h h + Rb_h)):
 *   H = (1 - z) n + z h */
#include "kernels/recurrent/recurrent.h"

static ons_status *gru_infer(ons_operands *o) { return ons_recurrent_infer(o, ONS_CELL_GRU); }

static ons_cost gru_cost(const ons_operands *o) { return ons_recurrent_cost(o, ONS_CELL_GRU, 1); }

static void gru_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_recurrent_reference(o, step, ONS_CELL_GRU, inputs, outputs);
}

static ons_status *gru_gradient(ons_gradient *g) { return ons_recurrent_gradient(g, ONS_CELL_GRU); }

static ons_value_id gru_in_order(ons_match *match) { return ons_recurrent_take_order(match, ONS_CELL_GRU); }

ONS_DEFINE_OPERATOR(gru, "GRU", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 6, 0, 3),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES, ONS_INT_ATTRIBUTE("linear_before_reset", 0)),
                    ONS_INFER(gru_infer), ONS_COST(gru_cost),
                    ONS_GRADIENT_RULE(gru_gradient, ONS_ALL_INPUTS & ~ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS)),
                    ONS_SAVES(ONS_INPUT_BIT(ONS_RECURRENT_X) | ONS_INPUT_BIT(ONS_RECURRENT_W) |
                                  ONS_INPUT_BIT(ONS_RECURRENT_R) | ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS),
                              ONS_INPUT_BIT(2)),
                    ONS_RECURRENT_CELL(ONS_INPUT_BIT(ONS_RECURRENT_H0)), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_recurrent_upgrade, ONS_PATTERNS({"GRU(x, w, r)", gru_in_order}), NULL),
                    ONS_REFERENCE(gru_reference));
