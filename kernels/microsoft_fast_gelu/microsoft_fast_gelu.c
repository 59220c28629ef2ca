/* com.microsoft.FastGelu: Gelu by the formula with tanh, of x + bias. */
#include "kernels/common/microsoft_gelu.h"

static ons_status *microsoft_fast_gelu_expand(ons_mode_change *m) { return ons_microsoft_gelu_expand(m, "tanh"); }

static void microsoft_fast_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_microsoft_gelu_reference(o, inputs, outputs, ons_gelu_tanh);
}

static const ons_case microsoft_fast_gelu_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-3, 3, 5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 3, 4)}, .error = "float"},
    {.name = "bias", .inputs = {ONS_F32_IN(-3, 3, 2, 5, 7), ONS_F32(7)}, .flops = 70},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "bias"},
    {.name = "number", .inputs = {ONS_F32(), ONS_F32(1)}, .error = "bias"},
    {.name = NULL},
};

ONS_DEFINE_EXPANSION(microsoft_fast_gelu, "FastGelu", ONS_MICROSOFT, ONS_ARITY(1, 2, 1, 1), ONS_NO_ATTRIBUTES,
                     ons_microsoft_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_fast_gelu_expand,
                     microsoft_fast_gelu_reference, microsoft_fast_gelu_cases);
