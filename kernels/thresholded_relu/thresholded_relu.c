/* ThresholdedRelu: x where it is above alpha, 0 elsewhere. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"

ONS_UNARY_FLOAT_REFERENCE(thresholded_relu, x > ons_attribute_float(o, 0) ? x : 0)

ONS_UNARY_FLOAT_KERNEL(thresholded_relu, x > parameters[0] ? x : 0)

static ons_status *thresholded_relu_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_make_like(g, &ons_op_thresholded_relu_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

static const ons_case thresholded_relu_cases[] = {
    ONS_UNARY_CASES(-3, 3, 0),
    {.name = "alpha",
     .inputs = {ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", -0.25)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};

ONS_DEFINE_OPERATOR(thresholded_relu, "ThresholdedRelu", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(ons_infer_float_unary),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(thresholded_relu_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(thresholded_relu_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare_attributes, thresholded_relu_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_thresholded_relu), thresholded_relu_cases);
