/* MatMulInteger: the matrix product of 8-bit integers less their zero points, in 32 bits. */
#include <stdlib.h>

#include "kernels/common/gemm/gemm.h"

enum { A, B, A_ZERO, B_ZERO };

static const ons_gemm_form plain = {.alpha = 1};

/* A zero point of the whole operand, of each row of A (column of B), or of each in every matrix. */
static ons_status *check_zero(const ons_operands *o, uint32_t zero, uint32_t operand) {
    if (!ons_has_input(o, zero)) return NULL;
    const ons_shape *shape = &o->inputs[operand].shape, *given = &o->inputs[zero].shape;
    uint32_t rank = shape->rank, kept = operand == A ? rank - 2 : rank - 1;
    bool fits = ons_shape_elements(given) == 1;
    if (rank >= 2 && given->rank == 1) fits |= given->dims[0] == shape->dims[kept];
    if (rank >= 2 && given->rank == rank) {
        ons_shape each = *shape;
        each.dims[operand == A ? rank - 1 : rank - 2] = 1;
        fits |= ons_shape_equal(given, &each);
    }
    if (!fits || o->inputs[zero].dtype != o->inputs[operand].dtype)
        return ons_node_error(o, "the zero point (input %u) does not fit operand %u", zero, operand);
    return NULL;
}

static ons_status *matmul_integer_infer(ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    for (uint32_t i = A; i <= B; ++i)
        if (o->inputs[i].dtype != ONS_INT8 && o->inputs[i].dtype != ONS_UINT8)
            return ons_node_error(o, "needs int8 or uint8, not %s", ons_dtype_name(o->inputs[i].dtype));
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[A].shape, &o->inputs[B].shape, &plain, &sizes, &result));
    ONS_TRY(check_zero(o, A_ZERO, A));
    ONS_TRY(check_zero(o, B_ZERO, B));
    o->outputs[0] = ons_type_make(ONS_INT32, result);
    return NULL;
}

static ons_cost matmul_integer_cost(const ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(ons_gemm_resolve(o, &o->inputs[A].shape, &o->inputs[B].shape, &plain, &sizes, &result));
    return (ons_cost){ons_gemm_flops(&sizes), ons_operand_bytes(o)};
}

/* The operand's words less its zero point; to be freed. */
static int64_t *centred(const ons_operands *o, uint32_t operand, const int64_t *words, const int64_t *zeros) {
    const ons_shape *shape = &o->inputs[operand].shape;
    int64_t n = ons_shape_elements(shape), count = 1;
    int64_t columns = shape->dims[shape->rank - 1], rows = shape->rank < 2 ? 1 : shape->dims[shape->rank - 2];
    int64_t *result = calloc((size_t)n + 1, sizeof *result);
    if (zeros != NULL) count = ons_elements(&o->inputs[operand == A ? A_ZERO : B_ZERO]);
    for (int64_t i = 0; result != NULL && i < n; ++i) {
        int64_t own = operand == A ? i / columns : i / (rows * columns) * columns + i % columns;
        result[i] = words[i] - (zeros == NULL ? 0 : zeros[own % count]);
    }
    return result;
}

static void matmul_integer_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    int64_t *a = centred(o, A, inputs[A], ons_has_input(o, A_ZERO) ? inputs[A_ZERO] : NULL);
    int64_t *b = centred(o, B, inputs[B], ons_has_input(o, B_ZERO) ? inputs[B_ZERO] : NULL);
    if (a != NULL && b != NULL)
        ons_gemm_reference_integer(o, &o->inputs[A].shape, &o->inputs[B].shape, &plain, a, b, outputs[0]);
    free(a);
    free(b);
}

ONS_DEFINE_OPERATOR(matmul_integer, "MatMulInteger", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(matmul_integer_infer), ONS_COST(matmul_integer_cost),
                    ONS_NOT_DIFFERENTIABLE("integers do not change gradually"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_QUANTIZED | ONS_TRAIT_DENSE, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(matmul_integer_reference));
