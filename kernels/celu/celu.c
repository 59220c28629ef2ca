/* Celu: x, or alpha·(e^(x/alpha) - 1) where x is negative. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

static ons_status *celu_infer(ons_operands *o) {
    if (!(ons_attribute_float(o, 0) > 0))
        return ons_node_error(o, "alpha is %g; a positive one is needed", ons_attribute_float(o, 0));
    return ons_infer_float_unary(o);
}

ONS_UNARY_FLOAT_REFERENCE(celu, x > 0 ? x : ons_attribute_float(o, 0) * expm1(x / ons_attribute_float(o, 0)))

ONS_UNARY_FLOAT_KERNEL(celu, x > 0 ? x : parameters[0] * ons_exp_minus_one(x > 0 ? 0 : x / parameters[0]))

static ons_status *celu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_celu_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 0)));
    return NULL;
}

static const ons_case celu_cases[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 2e-6,
     .flops = 63},
    {.name = "no_alpha", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_FLOAT("alpha", 0)}, .error = "alpha"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(celu, "Celu", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(celu_infer),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(celu_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(0, ONS_INPUT_BIT(0)), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(celu_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare_attributes, celu_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_celu), celu_cases);
