/* BitwiseNot: ones for zeros and zeros for ones. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

ONS_UNARY_REFERENCE(bitwise_not_words, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, ~x))
/* Bits are bits: one function for all integers. */
ONS_UNARY_SPAN(bitwise_not_bytes, uint8_t, uint8_t, uint8_t, ~x)

static void bitwise_not_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)step;
    bitwise_not_words(o, inputs, outputs);
}

static ons_status *bitwise_not_infer(ons_operands *o) {
    ONS_TRY(ons_need_integer(o, 0));
    return ons_infer_like_first(o);
}

static ons_status *bitwise_not_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_unary_state), &memory));
    ((ons_unary_state *)memory)->elements = ons_type_dense_bytes(&p->operands->outputs[0]);
    p->implementation = "elementwise";
    return NULL;
}

static void bitwise_not_run(const ons_launch *launch) { ons_unary_run(launch, 1, 1, bitwise_not_bytes); }

static const ons_case bitwise_not_cases[] = {
    {.name = "int32", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 5, 7)}, .flops = 35},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 3, 16, 33, 35)}, .flops = 55440},
    {.name = "uint8", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 37)}, .flops = 37},
    {.name = "uint16", .inputs = {ONS_RANDOM(ONS_UINT16, 0, 65535, 37)}, .flops = 37},
    {.name = "uint64", .inputs = {ONS_RANDOM(ONS_UINT64, 0, 99, 37)}, .flops = 37},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_INT8, -99, 99)}, .flops = 1},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 0, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 4096, 1024)}, .flops = 4194304, .benchmark = true},
    {.name = "float", .inputs = {ONS_F32(3)}, .error = "integer type is needed"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(bitwise_not, "BitwiseNot", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(bitwise_not_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the operand is an integer"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(bitwise_not_reference),
                    ONS_CPU_KERNEL(bitwise_not_prepare, bitwise_not_run),
                    ONS_CUDA_KERNEL(ons_cuda_move_prepare, ons_cuda_bitwise_not), bitwise_not_cases);
