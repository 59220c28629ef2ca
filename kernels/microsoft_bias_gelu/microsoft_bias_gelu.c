/* com.microsoft.BiasGelu: Gelu of x + bias. */
#include "kernels/common/microsoft_gelu.h"

static ons_status *microsoft_bias_gelu_expand(ons_mode_change *m) { return ons_microsoft_gelu_expand(m, "none"); }

static void microsoft_bias_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_microsoft_gelu_reference(o, inputs, outputs, ons_gelu_exact);
}

static const ons_case microsoft_bias_gelu_cases[] = {
    {.name = "bias", .inputs = {ONS_F32_IN(-3, 3, 2, 5, 7), ONS_F32(7)}, .flops = 70},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "bias"},
    {.name = "number", .inputs = {ONS_F32(), ONS_F32(1)}, .error = "bias"},
    {.name = NULL},
};

ONS_DEFINE_EXPANSION(microsoft_bias_gelu, "BiasGelu", ONS_MICROSOFT, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                     ons_microsoft_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_bias_gelu_expand,
                     microsoft_bias_gelu_reference, microsoft_bias_gelu_cases);
