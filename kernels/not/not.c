/* Not: of a truth value. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

ONS_UNARY_REFERENCE(not_words, int64_t, int64_t, x == 0)
ONS_UNARY_SPAN(not_bool, uint8_t, uint8_t, uint8_t, x == 0)

static void not_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    not_words(o, inputs, outputs);
}

static ons_status *not_infer(ons_operands *o) {
    ONS_TRY(ons_need_bool(o, 0));
    return ons_infer_like_first(o);
}

static void not_run(const ons_launch *launch) { ons_unary_run(launch, 1, 1, not_bool); }

static const ons_case not_cases[] = {
    {.name = "matrix", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1)}, .flops = 1},
    {.name = "threads", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 16, 33, 35)}, .flops = 55440},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 0, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 16, 1024, 1024)}, .flops = 16777216, .benchmark = true},
    {.name = "float", .inputs = {ONS_F32(3)}, .error = "bool is needed"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(not, "Not", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES, ONS_INFER(not_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("the operand is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(not_reference),
                    ONS_CPU_KERNEL(ons_unary_bool_prepare, not_run),
                    ONS_CUDA_KERNEL(ons_cuda_bool_prepare, ons_cuda_not), not_cases);
