/* Cos: of an angle in radians. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/sine.h"
#include "kernels/common/unary.h"

ONS_UNARY_REFERENCE(cos_words, double, double, cos(x))

static void cos_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    cos_words(o, inputs, outputs);
}

static void cos_float32(const void *in, void *out, int64_t count, const float *parameters) {
    (void)parameters;
    ons_sine_span(in, out, count, 1);
}

static void cos_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), sizeof(float), cos_float32); }

static ons_status *cos_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_make1(g, &ons_op_neg,
                  ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make1(g, &ons_op_sin, ons_gradient_input(g, 0))));
    return NULL;
}

static const ons_case cos_cases[] = {
    ONS_UNARY_CASES(-10, 10, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, 1000, -999999, 1e7, -3e38, 1e-30),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cos, "Cos", ONS_ONNX(7, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(cos_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(cos_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, cos_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_cos),
                    cos_cases);
