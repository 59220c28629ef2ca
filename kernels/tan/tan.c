/* Tan: of an angle in radians. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/sine.h"
#include "kernels/common/unary.h"

ONS_UNARY_REFERENCE(tan_words, double, double, tan(x))

static void tan_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    tan_words(o, inputs, outputs);
}

static void tan_float32(const void *in, void *out, int64_t count, const float *parameters) {
    enum { BLOCK = 256 };
    (void)parameters;
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t n = count - begin < BLOCK ? count - begin : BLOCK;
        float sine[BLOCK], cosine[BLOCK];
        ons_sine_span((const float *)in + begin, sine, n, 0);
        ons_sine_span((const float *)in + begin, cosine, n, 1);
        for (int64_t i = 0; i < n; ++i) ((float *)out)[begin + i] = sine[i] / cosine[i];
    }
}

static void tan_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), sizeof(float), tan_float32); }

static ons_status *tan_gradient(ons_gradient *g) {
    ons_value_id value = ons_gradient_output(g, 0), square = ons_make2(g, &ons_op_mul, value, value);
    g->gradients[0] =
        ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make2(g, &ons_op_add, square, ons_make_scalar(g, 1)));
    return NULL;
}

static const ons_case tan_cases[] = {
    ONS_UNARY_CASES(-1.4, 1.4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, 1000, -999999, 1e7),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(tan, "Tan", ONS_ONNX(7, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(tan_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(tan_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, tan_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_tan),
                    tan_cases);
