/* HammingWindow: a window of one cosine that does not reach 0. */
#include "kernels/signal/signal_window.h"

static void hamming_window_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_signal_window_reference(o, outputs, 25.0 / 46, 21.0 / 46, 0);
}

ONS_DEFINE_OPERATOR(hamming_window, "HammingWindow", ONS_ONNX(17, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_SIGNAL_WINDOW_ATTRIBUTES, ONS_INFER(ons_signal_window_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it depends on an integer alone"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(hamming_window_reference));
