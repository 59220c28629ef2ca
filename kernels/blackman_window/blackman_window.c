/* BlackmanWindow: a window of two cosines. */
#include "kernels/signal/signal_window.h"

static void blackman_window_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_signal_window_reference(o, outputs, 0.42, 0.5, 0.08);
}

ONS_DEFINE_OPERATOR(blackman_window, "BlackmanWindow", ONS_ONNX(17, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_SIGNAL_WINDOW_ATTRIBUTES, ONS_INFER(ons_signal_window_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it depends on an integer alone"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(blackman_window_reference));
