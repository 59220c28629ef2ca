/* A matrix product with operands read transposed, so that no transposed copy is made: MatMul's gradients, and MatMul of
 * a Transpose (keys in attention, a tied output head).
 *
 *   y = alpha × op(a) op(b), where op exchanges the last two dims if transpose_a, transpose_b
 *   fold: all dims but the last of each operand are rows of one matrix; the gradient of a weight that many rows share
 */
#include "kernels/matmul_transposed/matmul_transposed.h"

#include "graph/passes/fuse.h"
#include "kernels/common/gemm/gemm.h"
#include "kernels/operators.h"

static ons_status *matmul_transposed_infer(ons_operands *o) {
    ons_gemm_form form = form_of(o);
    ons_gemm_sizes sizes;
    ons_shape result;
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank < 2)
        return ons_node_error(o, "operands must be matrices");
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost matmul_transposed_cost(const ons_operands *o) {
    ons_gemm_form form = form_of(o);
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    return (ons_cost){ons_gemm_flops(&sizes), ons_operand_bytes(o)};
}

static void matmul_transposed_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_gemm_form form = form_of(o);
    ons_gemm_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], outputs[0]);
}

/* With A = op(a), B = op(b): dA = alpha dy Bᵀ, dB = alpha Aᵀ dy, each built transposed where the operand was. */
static ons_status *matmul_transposed_gradient(ons_gradient *g) {
    ons_gemm_form form = form_of(g->operands);
    ons_value_id a = ons_gradient_input(g, 0), b = ons_gradient_input(g, 1), dy = g->cotangents[0];
    if (form.fold) return ons_node_error(g->operands, "the gradient of a folded product is not supported");
    if (g->wanted[0])
        g->gradients[0] =
            form.transpose_a
                ? ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(b, dy),
                            ONS_WITH(ONS_AT_INT(TRANSPOSE_A, form.transpose_b), ONS_AT_INT(TRANSPOSE_B, 1),
                                     ONS_AT_FLOAT(ALPHA, form.alpha)))
                : ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, b),
                            ONS_WITH(ONS_AT_INT(TRANSPOSE_B, !form.transpose_b), ONS_AT_FLOAT(ALPHA, form.alpha)));
    if (!g->wanted[1]) return NULL;
    /* One matrix for all rows of a: its gradient is one product over all of them. */
    bool shared = g->operands->inputs[1].shape.rank == 2 && !form.transpose_a;
    g->gradients[1] = form.transpose_b
                          ? ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, a),
                                      ONS_WITH(ONS_AT_INT(TRANSPOSE_A, 1), ONS_AT_INT(TRANSPOSE_B, form.transpose_a),
                                               ONS_AT_INT(FOLD, shared), ONS_AT_FLOAT(ALPHA, form.alpha)))
                          : ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(a, dy),
                                      ONS_WITH(ONS_AT_INT(TRANSPOSE_A, !form.transpose_a), ONS_AT_INT(FOLD, shared),
                                               ONS_AT_FLOAT(ALPHA, form.alpha)));
    return NULL;
}

/* Whether a Transpose exchanges the last two dims and nothing else. */
static bool exchanges_last_two(const ons_operands *transpose) {
    const ons_attribute *order = &transpose->attributes[0];
    uint32_t rank = transpose->inputs[0].shape.rank;
    if (rank < 2) return false;
    if (order->kind == ONS_ATTRIBUTE_ABSENT) return rank == 2; /* all dims reversed */
    for (uint32_t i = 0; i + 2 < rank; ++i)
        if (order->ints[i] != i) return false;
    return order->count == rank && order->ints[rank - 2] == rank - 1 && order->ints[rank - 1] == rank - 2;
}

static ons_value_id fuse(ons_match *match, bool left) {
    ons_value_id a = ons_match_value(match, "a"), b = ons_match_value(match, "b");
    if (!exchanges_last_two(ons_match_node(match, "t")) || ons_match_type(match, "a").shape.rank < 2 ||
        ons_match_type(match, "b").shape.rank < 2 || ons_match_type(match, "a").dtype != ONS_FLOAT32)
        return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_matmul_transposed, ONS_IN(a, b),
                     ONS_WITH(ONS_AT_INT(left ? TRANSPOSE_A : TRANSPOSE_B, 1)));
}

static ons_value_id fuse_left(ons_match *match) { return fuse(match, true); }

static ons_value_id fuse_right(ons_match *match) { return fuse(match, false); }

ONS_DEFINE_OPERATOR(
    matmul_transposed, "MatMulTransposed", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose_a", 0), ONS_INT_ATTRIBUTE("transpose_b", 0),
                   ONS_INT_ATTRIBUTE("fold", 0), ONS_FLOAT_ATTRIBUTE("alpha", 1)),
    ONS_INFER(matmul_transposed_infer), ONS_COST(matmul_transposed_cost),
    ONS_GRADIENT_RULE(matmul_transposed_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0),
    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL, ONS_PATTERNS({"MatMul(a, t=Transpose(b))", fuse_right}, {"MatMul(t=Transpose(a), b)", fuse_left}),
              NULL),
    ONS_REFERENCE(matmul_transposed_reference));
