/* LeakyRelu: x, or alpha·x where x is negative. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"

static ons_status *leaky_relu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_UNARY_FLOAT_REFERENCE(leaky_relu, x < 0 ? ons_attribute_float(o, 0) * x : x)

ONS_UNARY_FLOAT_KERNEL(leaky_relu, x < 0 ? parameters[0] * x : x)

static ons_status *leaky_relu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_leaky_relu_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

static const ons_case leaky_relu_cases[] = {
    ONS_UNARY_CASES(-1, 1, 1e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 1e-6,
     .flops = 63},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(leaky_relu, "LeakyRelu", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.01)), ONS_INFER(ons_infer_float_unary),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(leaky_relu_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(leaky_relu_reference), ONS_CPU_KERNEL(leaky_relu_prepare, leaky_relu_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_leaky_relu), leaky_relu_cases);
