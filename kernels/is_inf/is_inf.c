/* IsInf: whether an element is infinite, with the signs that the attributes ask for. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

enum { DETECT_NEGATIVE, DETECT_POSITIVE };

ONS_UNARY_REFERENCE(is_inf_words, double, int64_t,
                    (x == -INFINITY && ons_attribute_int(o, DETECT_NEGATIVE) != 0) ||
                        (x == INFINITY && ons_attribute_int(o, DETECT_POSITIVE) != 0))
/* The parameters are the infinities to be found, NaN where one is not. */
ONS_UNARY_SPAN(is_inf_float32, float, float, uint8_t, (x == parameters[0]) | (x == parameters[1]))

static void is_inf_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    (void)step;
    is_inf_words(o, inputs, outputs);
}

static ons_status *is_inf_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ons_unary_state *state = p->state;
    state->parameters[0] = ons_attribute_int(p->operands, DETECT_NEGATIVE) != 0 ? -INFINITY : NAN;
    state->parameters[1] = ons_attribute_int(p->operands, DETECT_POSITIVE) != 0 ? INFINITY : NAN;
    return NULL;
}

static void is_inf_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), 1, is_inf_float32); }

static ons_status *is_inf_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ons_cuda_elementwise *state = p->state;
    state->parameters[0] = ons_attribute_int(p->operands, DETECT_NEGATIVE) != 0 ? -INFINITY : NAN;
    state->parameters[1] = ons_attribute_int(p->operands, DETECT_POSITIVE) != 0 ? INFINITY : NAN;
    return NULL;
}

#define FOUR_VALUES                                                                                                    \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = { NAN, INFINITY, -INFINITY, 0 }        \
    }
static const ons_case is_inf_cases[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    {.name = "both", .inputs = {FOUR_VALUES}, .flops = 4},
    {.name = "negative", .inputs = {FOUR_VALUES}, .settings = {ONS_SET_INT("detect_positive", 0)}, .flops = 4},
    {.name = "positive", .inputs = {FOUR_VALUES}, .settings = {ONS_SET_INT("detect_negative", 0)}, .flops = 4},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(is_inf, "IsInf", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("detect_negative", 1), ONS_INT_ATTRIBUTE("detect_positive", 1)),
                    ONS_INFER(ons_infer_float_test), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(is_inf_reference),
                    ONS_CPU_KERNEL(is_inf_prepare, is_inf_run), ONS_CUDA_KERNEL(is_inf_prepare_cuda, ons_cuda_is_inf),
                    is_inf_cases);
