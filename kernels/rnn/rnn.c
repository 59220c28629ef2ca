/* RNN, Elman's: H = f(W x + R h + Wb + Rb) */
#include "kernels/recurrent/recurrent.h"

static ons_status *rnn_infer(ons_operands *o) { return ons_recurrent_infer(o, ONS_CELL_RNN); }

static ons_cost rnn_cost(const ons_operands *o) { return ons_recurrent_cost(o, ONS_CELL_RNN, 1); }

static void rnn_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_recurrent_reference(o, step, ONS_CELL_RNN, inputs, outputs);
}

static ons_status *rnn_gradient(ons_gradient *g) { return ons_recurrent_gradient(g, ONS_CELL_RNN); }

ONS_DEFINE_OPERATOR(rnn, "RNN", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 6, 0, 3),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES), ONS_INFER(rnn_infer), ONS_COST(rnn_cost),
                    ONS_GRADIENT_RULE(rnn_gradient, ONS_ALL_INPUTS & ~ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS)),
                    ONS_SAVES(ONS_INPUT_BIT(ONS_RECURRENT_X) | ONS_INPUT_BIT(ONS_RECURRENT_W) |
                                  ONS_INPUT_BIT(ONS_RECURRENT_R) | ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS),
                              ONS_INPUT_BIT(2)),
                    ONS_RECURRENT_CELL(ONS_INPUT_BIT(ONS_RECURRENT_H0)), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_recurrent_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(rnn_reference));
