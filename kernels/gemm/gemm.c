/* Gemm: alpha × op(A) op(B) + beta × C, where C broadcasts to the result. */
#include "kernels/gemm/gemm.h"

#include "graph/passes/shard.h"
#include "graph/upgrade.h"
#include "kernels/common/gemm/gemm.h"
#include "kernels/operators.h"

static ons_status *gemm_infer(ons_operands *o) {
    ons_gemm_form form = form_of(o);
    ons_gemm_sizes sizes;
    ons_shape result, joined;
    if (o->inputs[0].shape.rank != 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "A and B must be matrices");
    if (o->inputs[0].dtype != o->inputs[1].dtype || (ons_has_input(o, 2) && o->inputs[2].dtype != o->inputs[0].dtype))
        return ons_node_error(o, "operands have different element types");
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    if (ons_has_input(o, 2) &&
        (!ons_shape_broadcast(&o->inputs[2].shape, &result, &joined) || !ons_shape_equal(&joined, &result)))
        return ons_node_error(o, "C does not broadcast to the result of %lld by %lld", (long long)sizes.m,
                              (long long)sizes.n);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost gemm_cost(const ons_operands *o) {
    double outputs = (double)ons_elements(&o->outputs[0]);
    double inner = (double)o->inputs[0].shape.dims[ons_attribute_int(o, TRANSPOSE_A) ? 0 : 1];
    return (ons_cost){2 * outputs * inner + (ons_has_input(o, 2) ? outputs : 0), ons_operand_bytes(o)};
}

static void gemm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    ons_gemm_form form = form_of(o);
    const ons_shape *a = &o->inputs[0].shape, *b = &o->inputs[1].shape;
    int64_t rows = o->outputs[0].shape.dims[0], columns = o->outputs[0].shape.dims[1];
    bool real = ons_dtype_is_float(o->inputs[0].dtype);
    if (real)
        ons_gemm_reference(o, a, b, &form, inputs[0], inputs[1], outputs[0]);
    else
        ons_gemm_reference_integer(o, a, b, &form, inputs[0], inputs[1], outputs[0]);
    if (!ons_has_input(o, 2)) return;
    steps c = steps_of(&o->inputs[2].shape);
    double beta = ons_attribute_float(o, BETA);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            if (real)
                ((double *)outputs[0])[i * columns + j] += beta * ((const double *)inputs[2])[i * c.row + j * c.column];
            else
                ((int64_t *)outputs[0])[i * columns + j] +=
                    (int64_t)beta * ((const int64_t *)inputs[2])[i * c.row + j * c.column];
        }
}

/* dA = alpha dy op(B)ᵀ and dB = alpha op(A)ᵀ dy, each built transposed where the operand was; dC = beta dy. */
static ons_status *gemm_gradient(ons_gradient *g) {
    ons_gemm_form form = form_of(g->operands);
    ons_value_id a = ons_gradient_input(g, 0), b = ons_gradient_input(g, 1), dy = g->cotangents[0];
    bool ta = form.transpose_a, tb = form.transpose_b;
    ons_setting alpha = ONS_AT_FLOAT(3, form.alpha);
    if (g->wanted[0])
        g->gradients[0] =
            ta ? ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(b, dy),
                           ONS_WITH(ONS_AT_INT(0, tb), ONS_AT_INT(1, 1), alpha))
               : ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, b), ONS_WITH(ONS_AT_INT(1, !tb), alpha));
    if (g->wanted[1])
        g->gradients[1] =
            tb ? ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, a),
                           ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(1, ta), alpha))
               : ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(a, dy), ONS_WITH(ONS_AT_INT(0, !ta), alpha));
    if (g->operands->input_count > 2 && g->wanted[2]) {
        double beta = ons_attribute_float(g->operands, BETA);
        g->gradients[2] = beta == 1
                              ? dy
                              : ons_build(g->builder, &ons_op_mul,
                                          ONS_IN(dy, ons_build_scalar(g->builder, ONS_FLOAT32, beta)), ONS_DEFAULTS);
    }
    return NULL;
}

/* Columns of op(B), and of C where it has as many, are columns of the result. */
static ons_status *gemm_shard(ons_sharding *s) {
    const ons_shape *c = ons_has_input(s->operands, 2) ? &s->operands->inputs[2].shape : NULL;
    uint32_t columns = ons_attribute_int(s->operands, TRANSPOSE_B) ? 0 : 1;
    if (s->parts[0] != NULL || s->parts[1] == NULL || s->axes[1] != columns) return NULL;
    bool along = c != NULL && c->rank > 0 && c->dims[c->rank - 1] != 1;
    if (along && (s->parts[2] == NULL || s->axes[2] + 1 != c->rank)) return NULL;
    s->join = ONS_SHARDS_CONCAT;
    s->axis = 1;
    return ons_sharding_repeat(s);
}

/* Before opset 7 broadcasting the third operand was asked for. */
static ons_status *gemm_upgrade(ons_upgrade *u) {
    if (u->opset < 7) ons_upgrade_remove(u, "broadcast");
    return NULL;
}

ONS_DEFINE_OPERATOR(gemm, "Gemm", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1), ONS_FLOAT_ATTRIBUTE("beta", 1),
                                   ONS_INT_ATTRIBUTE("transA", 0), ONS_INT_ATTRIBUTE("transB", 0)),
                    ONS_INFER(gemm_infer), ONS_COST(gemm_cost), ONS_GRADIENT_RULE(gemm_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_SHARDED_FORMS(gemm_upgrade, ONS_NO_PATTERNS, NULL, gemm_shard),
                    ONS_REFERENCE(gemm_reference));
