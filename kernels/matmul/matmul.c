/* MatMul: numpy's matrix product, batched and broadcast. */
#include "kernels/matmul/matmul.h"

#include "graph/passes/shard.h"
#include "kernels/common/gemm/gemm.h"
#include "kernels/operators.h"

static ons_status *matmul_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (o->inputs[0].dtype != o->inputs[1].dtype)
        return ons_node_error(o, "operands have different element types, %s and %s",
                              ons_type_print(&o->inputs[0], left), ons_type_print(&o->inputs[1], right));
    ons_gemm_sizes sizes;
    ons_shape result;
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &plain, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost matmul_cost(const ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &plain, &sizes, &result));
    return (ons_cost){ons_gemm_flops(&sizes), ons_operand_bytes(o)};
}

static void matmul_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    const ons_shape *a = &o->inputs[0].shape, *b = &o->inputs[1].shape;
    if (ons_dtype_is_float(o->inputs[0].dtype))
        ons_gemm_reference(o, a, b, &plain, inputs[0], inputs[1], outputs[0]);
    else
        ons_gemm_reference_integer(o, a, b, &plain, inputs[0], inputs[1], outputs[0]);
}

/* The value with another shape of the same size. */
static ons_value_id reshape(ons_builder *builder, ons_value_id value, const ons_shape *shape) {
    return ons_build(builder, ons_registry_role(builder->registry, ONS_ROLE_RESHAPE),
                     ONS_IN(value, ons_build_integers(builder, shape->dims, shape->rank)), ONS_WITH(ONS_AT_INT(0, 1)));
}

/* Vectors become matrices, so that the rules below see matrices alone. A gradient keeps the batch of the output; the
 * driver sums it down, the rows of a vector on the left included. */
static ons_status *matmul_gradient(ons_gradient *g) {
    ons_builder *builder = g->builder;
    ons_value_id a = ons_gradient_input(g, 0), b = ons_gradient_input(g, 1), dy = g->cotangents[0];
    ons_shape a_shape = g->operands->inputs[0].shape, b_shape = g->operands->inputs[1].shape;
    ons_shape dy_shape = ons_builder_type(builder, dy).shape;
    bool row = a_shape.rank == 1, column = b_shape.rank == 1;
    if (row) {
        a_shape = (ons_shape){.rank = 2, .dims = {1, a_shape.dims[0]}};
        a = reshape(builder, a, &a_shape);
    }
    if (column) {
        b_shape = (ons_shape){.rank = 2, .dims = {b_shape.dims[0], 1}};
        b = reshape(builder, b, &b_shape);
    }
    if (row || column) {
        int64_t n = column ? 1 : dy_shape.dims[dy_shape.rank - 1];
        uint32_t batch = dy_shape.rank - !row - !column;
        dy_shape.rank = batch;
        dy_shape.dims[dy_shape.rank++] = a_shape.dims[a_shape.rank - 2];
        dy_shape.dims[dy_shape.rank++] = n;
        dy = reshape(builder, dy, &dy_shape);
    }
    if (g->wanted[0])
        g->gradients[0] = ons_build(builder, &ons_op_matmul_transposed, ONS_IN(dy, b), ONS_WITH(ONS_AT_INT(1, 1)));
    if (!g->wanted[1]) return NULL;
    bool shared = b_shape.rank == 2; /* one matrix for all: its gradient is one product over all rows */
    ons_value_id db =
        ons_build(builder, &ons_op_matmul_transposed, ONS_IN(a, dy), ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(2, shared)));
    g->gradients[1] = column ? reshape(builder, db, &g->operands->inputs[1].shape) : db;
    return NULL;
}

/* Columns of a matrix on the right are columns of the result. */
static ons_status *matmul_shard(ons_sharding *s) {
    const ons_shape *b = &s->operands->inputs[1].shape;
    if (s->parts[0] != NULL || b->rank < 2 || s->axes[1] + 1 != b->rank) return NULL;
    s->join = ONS_SHARDS_CONCAT;
    s->axis = s->operands->outputs[0].shape.rank - 1;
    return ons_sharding_repeat(s);
}

ONS_DEFINE_OPERATOR(matmul, "MatMul", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(matmul_infer), ONS_COST(matmul_cost), ONS_GRADIENT_RULE(matmul_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_SHARDED_FORMS(NULL, ONS_NO_PATTERNS, NULL, matmul_shard),
                    ONS_REFERENCE(matmul_reference));
