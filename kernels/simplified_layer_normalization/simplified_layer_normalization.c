/* SimplifiedLayerNormalization: RMSNormalization as ONNX Runtime's optimiser writes it, into the default domain at any
 * opset. Its second output is 1 / √(mean(x²) + epsilon) of every row. */
#include "kernels/common/rms_norm.h"

static const ons_case simplified_layer_normalization_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7), ONS_F32(7)}, .outputs = 2, .tolerance = 1e-5, .flops = 140},
    {.name = "axis",
     .inputs = {ONS_F32(2, 3, 17), ONS_F32(3, 17)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 408},
    {.name = "large",
     .inputs = {ONS_F32(4, 128, 1024), ONS_F32(1024)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 2097152,
     .benchmark = true},
    {.name = "scale_too_short", .inputs = {ONS_F32(2, 7), ONS_F32(6)}, .error = "scale"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(simplified_layer_normalization, "SimplifiedLayerNormalization", ONS_ONNX(1, ONS_NEWEST),
                    ONS_ARITY(2, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5),
                                   ONS_INT_ATTRIBUTE("stash_type", 1)),
                    ONS_INFER(ons_rms_norm_infer), ONS_COST(ons_rms_norm_cost),
                    ONS_GRADIENT_RULE(ons_rms_norm_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1)),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, 0, ONS_INPUT_BIT(1)),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_rms_norm_reference), ONS_CPU_KERNEL(ons_rms_norm_prepare, ons_rms_norm_run),
                    ONS_CUDA_KERNEL(ons_rms_norm_cuda_prepare, ons_cuda_simplified_layer_normalization),
                    simplified_layer_normalization_cases);
