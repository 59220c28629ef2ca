/* com.microsoft.Gelu: ONNX's own Gelu, exactly, from before it had one. */
#include "kernels/microsoft/microsoft_gelu.h"

static ons_status *microsoft_gelu_expand(ons_replacement *m) { return ons_microsoft_gelu_expand(m, "none"); }

static void microsoft_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_microsoft_gelu_reference(o, inputs, outputs, ons_gelu_exact);
}

ONS_DEFINE_EXPANSION(microsoft_gelu, "Gelu", ONS_MICROSOFT, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                     ons_microsoft_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_gelu_expand,
                     microsoft_gelu_reference);
