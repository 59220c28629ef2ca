/* BitShift: the bits of a moved to the left or right by b places; those that fall out are lost, zeros come in (from the
 * left, copies of the sign). */
#include <string.h>

#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

enum { DIRECTION };

static bool goes_left(const ons_operands *o) { return strcmp(ons_attribute_string(o, DIRECTION), "LEFT") == 0; }

static ons_status *bit_shift_infer(ons_operands *o) {
    const char *direction = ons_attribute_string(o, DIRECTION);
    if (!goes_left(o) && strcmp(direction, "RIGHT") != 0)
        return ons_node_error(o, "direction is '%s'; 'LEFT' and 'RIGHT' are possible", direction);
    return ons_infer_broadcast_integers(o);
}

/* By the width of the type and more, or by less than nothing, there is left what fills up. */
static int64_t shifted_word(const ons_operands *o, uint64_t a, uint64_t b) {
    ons_dtype dtype = o->outputs[0].dtype;
    bool outside = b >= 8 * ons_dtype_size(dtype); /* negative numbers are the largest */
    if (goes_left(o)) return outside ? 0 : ons_wrap_to(dtype, (int64_t)(a << b));
    if (dtype == ONS_UINT64) return outside ? 0 : (int64_t)(a >> b);
    int64_t word = (int64_t)a;
    return outside ? (word < 0 ? -1 : 0) : word >> b;
}

ONS_BINARY_REFERENCE(bit_shift_words, uint64_t, int64_t, shifted_word(o, a, b))

static void bit_shift_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    (void)step;
    bit_shift_words(o, inputs, outputs);
}

/* Where C leaves the result open there is nothing left. */
static inline uint64_t shifted(uint64_t a, uint64_t b, bool left) { return b > 63 ? 0 : left ? a << b : a >> b; }

ONS_BINARY_SPAN(bit_shift_8, uint8_t, uint64_t, uint8_t, shifted(a, b, parameters[0] != 0))
ONS_BINARY_SPAN(bit_shift_16, uint16_t, uint64_t, uint16_t, shifted(a, b, parameters[0] != 0))
ONS_BINARY_SPAN(bit_shift_32, uint32_t, uint64_t, uint32_t, shifted(a, b, parameters[0] != 0))
ONS_BINARY_SPAN(bit_shift_64, uint64_t, uint64_t, uint64_t, shifted(a, b, parameters[0] != 0))
ONS_BINARY_PREPARE(bit_shift_spans, {ONS_UINT8, bit_shift_8}, {ONS_UINT16, bit_shift_16}, {ONS_UINT32, bit_shift_32},
                   {ONS_UINT64, bit_shift_64})

static ons_status *bit_shift_prepare(ons_prepare *p) {
    ONS_TRY(bit_shift_spans_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = goes_left(p->operands) ? 1 : 0;
    return NULL;
}

static ons_status *bit_shift_prepare_cuda(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    if (dtype != ONS_UINT8 && dtype != ONS_UINT16 && dtype != ONS_UINT32 && dtype != ONS_UINT64)
        return ons_node_error(p->operands, "the CUDA kernel does not shift %s", ons_dtype_name(dtype));
    ONS_TRY(ons_cuda_move_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = goes_left(p->operands) ? 1 : 0;
    return NULL;
}

#define SHIFT(DIRECTION) .settings = {ONS_SET_STRING("direction", DIRECTION)}
static const ons_case bit_shift_cases[] = {
    {.name = "left",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 5, 7), ONS_RANDOM(ONS_UINT8, 0, 9, 7)},
     SHIFT("LEFT"),
     .flops = 35},
    {.name = "right",
     .inputs = {ONS_RANDOM(ONS_UINT16, 0, 65535, 35), ONS_RANDOM(ONS_UINT16, 0, 20, 35)},
     SHIFT("RIGHT"),
     .flops = 35},
    {.name = "uint32",
     .inputs = {ONS_RANDOM(ONS_UINT32, 0, 4e9, 35), ONS_RANDOM(ONS_UINT32, 0, 40, 35)},
     SHIFT("LEFT"),
     .flops = 35},
    {.name = "uint64",
     .inputs = {ONS_RANDOM(ONS_UINT64, 0, 1e18, 35), ONS_RANDOM(ONS_UINT64, 0, 70, 35)},
     SHIFT("LEFT"),
     .flops = 35},
    {.name = "uint64_right",
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(4), .value_count = 4, .values = {-1, -9, 12, 12}},
                {.dtype = ONS_UINT64, .shape = ONS_DIMS(4), .value_count = 4, .values = {1, 63, 64, -1}}},
     SHIFT("RIGHT"),
     .flops = 4},
    {.name = "rank0",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255), ONS_RANDOM(ONS_UINT8, 0, 9)},
     SHIFT("RIGHT"),
     .flops = 1},
    {.name = "empty",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 0, 4), ONS_RANDOM(ONS_UINT8, 0, 9, 4)},
     SHIFT("RIGHT"),
     .flops = 0},
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_UINT32, 0, 4e9, 1024, 1024), ONS_RANDOM(ONS_UINT32, 0, 31, 1024)},
     SHIFT("LEFT"),
     .flops = 1048576,
     .benchmark = true},
    {.name = "signed",
     .inputs = {ONS_RANDOM(ONS_INT8, -128, 127, 35), ONS_RANDOM(ONS_INT8, -2, 9, 35)},
     SHIFT("LEFT"),
     .flops = 35},
    {.name = "signed_right",
     .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 35), ONS_RANDOM(ONS_INT32, -2, 40, 35)},
     SHIFT("RIGHT"),
     .flops = 35},
    {.name = "float", .inputs = {ONS_F32(3), ONS_F32(3)}, SHIFT("LEFT"), .error = "integer"},
    {.name = "direction",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 3), ONS_RANDOM(ONS_UINT8, 0, 9, 3)},
     SHIFT("UP"),
     .error = "direction"},
    {.name = "misfit",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 3), ONS_RANDOM(ONS_UINT8, 0, 9, 4)},
     SHIFT("LEFT"),
     .error = "broadcast"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(bit_shift, "BitShift", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("direction", ONS_ATTRIBUTE_STRING)),
                    ONS_INFER(bit_shift_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the operands are integers"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(bit_shift_reference), ONS_CPU_KERNEL(bit_shift_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(bit_shift_prepare_cuda, ons_cuda_bit_shift), bit_shift_cases);
