/* com.microsoft.BiasGelu: Gelu of x + bias. */
#include "kernels/microsoft/microsoft_gelu.h"

static ons_status *microsoft_bias_gelu_expand(ons_replacement *m) { return ons_microsoft_gelu_expand(m, "none"); }

static void microsoft_bias_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_microsoft_gelu_reference(o, inputs, outputs, ons_gelu_exact);
}

ONS_DEFINE_EXPANSION(microsoft_bias_gelu, "BiasGelu", ONS_MICROSOFT, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                     ons_microsoft_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_bias_gelu_expand,
                     microsoft_bias_gelu_reference);
