/* Where: the second operand where the first is true, else the third. */
#include <string.h>

#include "kernels/common/broadcast.h"
#include "kernels/common/cases.h"
#include "kernels/common/checks.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"

static ons_status *where_infer(ons_operands *o) {
    ONS_TRY(ons_need_bool(o, 0));
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (o->inputs[1].dtype != o->inputs[2].dtype || ons_dtype_size(o->inputs[1].dtype) == 0)
        return ons_node_error(o, "cannot choose between %s and %s", ons_type_print(&o->inputs[1], left),
                              ons_type_print(&o->inputs[2], right));
    ons_shape shape;
    if (!ons_shape_broadcast(&o->inputs[1].shape, &o->inputs[2].shape, &shape) ||
        !ons_shape_broadcast(&shape, &o->inputs[0].shape, &shape))
        return ons_node_error(o, "the shapes of condition, %s and %s do not broadcast",
                              ons_type_print(&o->inputs[1], left), ons_type_print(&o->inputs[2], right));
    o->outputs[0] = ons_type_make(o->inputs[1].dtype, shape);
    return NULL;
}

static void where_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    (void)step;
    const ons_shape *shape = &o->outputs[0].shape;
    const int64_t *condition = inputs[0];
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {
        uint32_t chosen = condition[ons_broadcast_index(shape, &o->inputs[0].shape, i)] != 0 ? 1 : 2;
        int64_t from = ons_broadcast_index(shape, &o->inputs[chosen].shape, i);
        memcpy((char *)outputs[0] + i * 8, (const char *)inputs[chosen] + from * 8, 8);
    }
}

/* One loop for steps of condition and operands that the compiler knows. */
#define WHERE_LOOP(TYPE, CONDITION_STEP, LEFT_STEP, RIGHT_STEP)                                                        \
    case (CONDITION_STEP)*4 + (LEFT_STEP)*2 + (RIGHT_STEP):                                                            \
        _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) {                                                          \
            TYPE a = left[i * (LEFT_STEP)], b = right[i * (RIGHT_STEP)];                                               \
            out[i] = condition[i * (CONDITION_STEP)] != 0 ? a : b;                                                     \
        }                                                                                                              \
        break;

/* Elements are moved, not looked at: one span function for each size. */
#define WHERE_SPAN(NAME, TYPE)                                                                                         \
    static void NAME(const ons_span *span) {                                                                           \
        typedef TYPE __attribute__((may_alias)) element;                                                               \
        const uint8_t *condition = span->inputs[0];                                                                    \
        const element *left = span->inputs[1], *right = span->inputs[2];                                               \
        element *out = span->output;                                                                                   \
        int64_t n = span->count;                                                                                       \
        switch (span->steps[0] * 4 + span->steps[1] * 2 + span->steps[2]) {                                            \
            WHERE_LOOP(element, 0, 0, 0)                                                                               \
            WHERE_LOOP(element, 0, 0, 1)                                                                               \
            WHERE_LOOP(element, 0, 1, 0)                                                                               \
            WHERE_LOOP(element, 0, 1, 1)                                                                               \
            WHERE_LOOP(element, 1, 0, 0)                                                                               \
            WHERE_LOOP(element, 1, 0, 1)                                                                               \
            WHERE_LOOP(element, 1, 1, 0)                                                                               \
            WHERE_LOOP(element, 1, 1, 1)                                                                               \
        }                                                                                                              \
    }

WHERE_SPAN(where_8, uint8_t)
WHERE_SPAN(where_16, uint16_t)
WHERE_SPAN(where_32, uint32_t)
WHERE_SPAN(where_64, uint64_t)

static ons_status *where_prepare(ons_prepare *p) {
    size_t size = ons_dtype_size(p->operands->outputs[0].dtype);
    ons_broadcast *state;
    return ons_broadcast_prepare(p,
                                 size == 1   ? where_8
                                 : size == 2 ? where_16
                                 : size == 4 ? where_32
                                             : where_64,
                                 &state);
}

static ons_status *where_gradient(ons_gradient *g) {
    ons_value_id condition = ons_gradient_input(g, 0), zero = ons_make_scalar(g, 0);
    if (g->wanted[1]) g->gradients[1] = ons_make3(g, &ons_op_where, condition, g->cotangents[0], zero);
    if (g->wanted[2]) g->gradients[2] = ons_make3(g, &ons_op_where, condition, zero, g->cotangents[0]);
    return NULL;
}

#define TRUTH(...) ONS_RANDOM(ONS_BOOL, 0, 1, ##__VA_ARGS__)
static const ons_case where_cases[] = {
    {.name = "same", .inputs = {TRUTH(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {TRUTH(), ONS_F32(), ONS_F32()}, .flops = 1},
    {.name = "mask", .inputs = {TRUTH(1, 1, 9, 9), ONS_F32(2, 3, 9, 9), ONS_F32_SCALAR(-1e9)}, .flops = 486},
    {.name = "columns", .inputs = {TRUTH(5, 1), ONS_F32(35), ONS_F32(5, 35)}, .flops = 175},
    {.name = "left_column", .inputs = {TRUTH(5, 35), ONS_F32(5, 1), ONS_F32(35)}, .flops = 175},
    {.name = "condition_alone", .inputs = {TRUTH(5, 7), ONS_F32(), ONS_F32(5, 1)}, .flops = 35},
    {.name = "strided", .inputs = {TRUTH(4, 1, 5), ONS_F32(3, 1), ONS_F32(2, 1, 1, 1)}, .flops = 120},
    {.name = "threads", .inputs = {TRUTH(35, 1), ONS_F32(33, 35, 49), ONS_F32(49)}, .flops = 56595},
    {.name = "int64", .inputs = {TRUTH(5, 7), ONS_RANDOM(ONS_INT64, -9, 9, 5, 7), ONS_I64_SCALAR(0)}, .flops = 35},
    {.name = "int32",
     .inputs = {TRUTH(5, 7), ONS_RANDOM(ONS_INT32, -9, 9, 7), ONS_RANDOM(ONS_INT32, -9, 9, 5, 1)},
     .flops = 35},
    {.name = "bool", .inputs = {TRUTH(5, 7), TRUTH(5, 7), TRUTH(7)}, .flops = 35},
    {.name = "empty", .inputs = {TRUTH(0, 4), ONS_F32(4), ONS_F32()}, .flops = 0},
    {.name = "mask_large",
     .inputs = {TRUTH(256, 256), ONS_F32(32, 8, 256, 256), ONS_F32_SCALAR(-1e9)},
     .flops = 16777216,
     .benchmark = true},
    {.name = "misfit", .inputs = {TRUTH(2), ONS_F32(3), ONS_F32()}, .error = "broadcast"},
    {.name = "types", .inputs = {TRUTH(2), ONS_F32(2), ONS_I64(1, 2)}, .error = "choose"},
    {.name = "condition", .inputs = {ONS_F32(2), ONS_F32(2), ONS_F32(2)}, .error = "bool is needed"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(where, "Where", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(where_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(where_gradient, ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ROLES(ONS_ROLE_SELECT, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 2}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(where_reference), ONS_CPU_KERNEL(where_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_move_prepare, ons_cuda_where), where_cases);
