/* com.microsoft.FusedMatMul: alpha × op(A) op(B). transA exchanges the last two dims of A; transBatchA, before that,
 * puts the first dim behind the other batch dims: [M, batch…, K] is read as [batch…, M, K]. Vectors stay as they are.
 */
#include <stdlib.h>

#include "kernels/common/gemm/gemm.h"
#include "kernels/common/operator/expand.h"

enum { ALPHA, TRANSPOSE_A, TRANSPOSE_B, ROTATE_A, ROTATE_B };

static const ons_gemm_form plain = {.alpha = 1};

/* Which axis of the operand each axis of op(operand) is. */
static ons_shape arrange(const ons_operands *o, uint32_t input, int64_t order[static ONS_RANK_MAX]) {
    const ons_shape *shape = &o->inputs[input].shape;
    uint32_t rank = shape->rank;
    for (uint32_t i = 0; i < rank; ++i) order[i] = i;
    if (rank > 2 && ons_attribute_int(o, ROTATE_A + input) != 0) {
        for (uint32_t i = 0; i + 2 < rank; ++i) order[i] = i + 1;
        order[rank - 2] = 0;
    }
    if (rank >= 2 && ons_attribute_int(o, TRANSPOSE_A + input) != 0) {
        int64_t last = order[rank - 1];
        order[rank - 1] = order[rank - 2];
        order[rank - 2] = last;
    }
    ons_shape result = {.rank = rank};
    for (uint32_t i = 0; i < rank; ++i) result.dims[i] = shape->dims[order[i]];
    return result;
}

static ons_status *resolve_matmul(const ons_operands *o, ons_gemm_sizes *sizes, ons_shape *result) {
    int64_t order[ONS_RANK_MAX];
    ons_shape a = arrange(o, 0, order), b = arrange(o, 1, order);
    return ons_gemm_resolve(o, &a, &b, &plain, sizes, result);
}

static ons_status *microsoft_fused_matmul_infer(ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ONS_TRY(ons_need_float(o, 0));
    if (o->inputs[0].dtype != o->inputs[1].dtype) return ons_node_error(o, "operands have different element types");
    ONS_TRY(resolve_matmul(o, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost microsoft_fused_matmul_cost(const ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(resolve_matmul(o, &sizes, &result));
    return (ons_cost){ons_gemm_flops(&sizes), ons_operand_bytes(o)};
}

/* The operand, put in order but for the last two axes where the product itself can read them transposed. */
static ons_value_id prepare(ons_replacement *m, uint32_t input) {
    const ons_operands *o = m->operands;
    int64_t order[ONS_RANK_MAX];
    uint32_t rank = arrange(o, input, order).rank;
    if (rank < 3 || ons_attribute_int(o, ROTATE_A + input) == 0) return m->inputs[input];
    for (uint32_t i = 0; i + 2 < rank; ++i) order[i] = i + 1;
    order[rank - 2] = 0;
    order[rank - 1] = rank - 1;
    return ons_expand_transpose(m, m->inputs[input], rank, order);
}

static ons_status *microsoft_fused_matmul_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    bool vector = o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank < 2;
    ons_value_id a = prepare(m, 0), b = prepare(m, 1);
    double alpha = ons_attribute_float(o, ALPHA);
    if (!vector)
        return ons_expand_finish(
            m, ons_build(m->builder, &ons_op_matmul_transposed, ONS_IN(a, b),
                         ONS_WITH(ONS_AT_INT(0, ons_attribute_int(o, TRANSPOSE_A) != 0),
                                  ONS_AT_INT(1, ons_attribute_int(o, TRANSPOSE_B) != 0), ONS_AT_FLOAT(3, alpha))));
    for (uint32_t input = 0; input < 2; ++input) { /* the other operand may still be a matrix to be transposed */
        int64_t order[ONS_RANK_MAX];
        uint32_t rank = arrange(o, input, order).rank;
        if (rank < 2 || ons_attribute_int(o, TRANSPOSE_A + input) == 0) continue;
        ons_value_id turned = ons_expand_transpose(m, m->inputs[input], rank, order);
        *(input == 0 ? &a : &b) = turned;
    }
    return ons_expand_finish(m, ons_expand_scale(m, ons_expand2(m, &ons_op_matmul, a, b), alpha));
}

/* A copy of the operand in its arranged order, then the plain product. */
static double *arranged(const ons_operands *o, uint32_t input, const double *x, ons_shape *shape) {
    int64_t order[ONS_RANK_MAX], strides[ONS_RANK_MAX] = {0}, stride = 1;
    const ons_shape *from = &o->inputs[input].shape;
    *shape = arrange(o, input, order);
    int64_t own[ONS_RANK_MAX] = {0};
    for (uint32_t i = from->rank; i-- > 0; stride *= from->dims[i]) own[i] = stride;
    for (uint32_t i = 0; i < from->rank; ++i) strides[i] = own[order[i]];
    int64_t count = ons_shape_elements(from);
    double *copy = malloc(((size_t)count + 1) * sizeof *copy);
    for (int64_t i = 0; copy != NULL && i < count; ++i) {
        int64_t rest = i, at = 0;
        for (uint32_t axis = shape->rank; axis-- > 0; rest /= shape->dims[axis])
            at += rest % shape->dims[axis] * strides[axis];
        copy[i] = x[at];
    }
    return copy;
}

static void microsoft_fused_matmul_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_shape a_shape, b_shape;
    double *a = arranged(o, 0, inputs[0], &a_shape), *b = arranged(o, 1, inputs[1], &b_shape), *y = outputs[0];
    if (a != NULL && b != NULL) ons_gemm_reference(o, &a_shape, &b_shape, &plain, a, b, y);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) y[i] *= ons_attribute_float(o, ALPHA);
    free(a);
    free(b);
}

ONS_DEFINE_EXPANSION(microsoft_fused_matmul, "FusedMatMul", ONS_MICROSOFT, ONS_ARITY(2, 2, 1, 1),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1), ONS_INT_ATTRIBUTE("transA", 0),
                                    ONS_INT_ATTRIBUTE("transB", 0), ONS_INT_ATTRIBUTE("transBatchA", 0),
                                    ONS_INT_ATTRIBUTE("transBatchB", 0)),
                     microsoft_fused_matmul_infer, microsoft_fused_matmul_cost, ONS_ALL_INPUTS,
                     microsoft_fused_matmul_expand, microsoft_fused_matmul_reference);
