/* Log: the natural logarithm. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_REFERENCE(log, log(x))

ONS_UNARY_FLOAT_KERNEL(log, ons_log(x))

static ons_status *log_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_div, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

static const ons_case log_cases[] = {
    ONS_UNARY_CASES(0.1, 4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, -1, 1e-40, 3e38, 1),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(log, "Log", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(log_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(log_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, log_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_log),
                    log_cases);
