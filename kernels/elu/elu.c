/* Elu: x, or alpha·(eˣ - 1) where x is negative. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

static ons_status *elu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_UNARY_FLOAT_REFERENCE(elu, x < 0 ? ons_attribute_float(o, 0) * expm1(x) : x)

ONS_UNARY_FLOAT_KERNEL(elu, x < 0 ? parameters[0] * ons_exp_minus_one(x < 0 ? x : 0) : x)

static ons_status *elu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_elu_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

static const ons_case elu_cases[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 2e-6,
     .flops = 63},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(elu, "Elu", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(ons_infer_float_unary),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(elu_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(elu_reference),
                    ONS_CPU_KERNEL(elu_prepare, elu_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_elu),
                    elu_cases);
