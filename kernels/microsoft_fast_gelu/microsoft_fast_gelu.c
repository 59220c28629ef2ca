/* com.microsoft.FastGelu: Gelu by the formula with tanh, of x + bias. */
#include "kernels/microsoft/microsoft_gelu.h"

static ons_status *microsoft_fast_gelu_expand(ons_replacement *m) { return ons_microsoft_gelu_expand(m, "tanh"); }

static void microsoft_fast_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_microsoft_gelu_reference(o, inputs, outputs, ons_gelu_tanh);
}

ONS_DEFINE_EXPANSION(microsoft_fast_gelu, "FastGelu", ONS_MICROSOFT, ONS_ARITY(1, 2, 1, 1), ONS_NO_ATTRIBUTES,
                     ons_microsoft_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_fast_gelu_expand,
                     microsoft_fast_gelu_reference);
