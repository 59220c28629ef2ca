/* MatMul: numpy's matrix product, batched and broadcast. */
#include "kernels/common/cuda_product.h"
#include "kernels/common/product.h"

static const ons_product_form plain = {.alpha = 1};

static ons_status *matmul_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (o->inputs[0].dtype != o->inputs[1].dtype)
        return ons_node_error(o, "operands have different element types, %s and %s",
                              ons_type_print(&o->inputs[0], left), ons_type_print(&o->inputs[1], right));
    ons_product_sizes sizes;
    ons_shape result;
    ONS_TRY(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &plain, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost matmul_cost(const ons_operands *o) {
    ons_product_sizes sizes;
    ons_shape result;
    ons_status_free(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &plain, &sizes, &result));
    return (ons_cost){ons_product_flops(&sizes), ons_operand_bytes(o)};
}

static void matmul_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    (void)step;
    const ons_shape *a = &o->inputs[0].shape, *b = &o->inputs[1].shape;
    if (ons_dtype_is_float(o->inputs[0].dtype))
        ons_product_reference(o, a, b, &plain, inputs[0], inputs[1], outputs[0]);
    else
        ons_product_reference_integer(o, a, b, &plain, inputs[0], inputs[1], outputs[0]);
}

static ons_status *matmul_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->outputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->outputs[0].dtype));
    void *state;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_product), &state));
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &plain, false, false, state);
}

static ons_status *matmul_cuda_prepare(ons_prepare *p) { return ons_cuda_product_prepare(p, &plain, false); }

static void matmul_run(const ons_launch *launch) {
    ons_product_run(launch->state, launch->inputs[0], launch->inputs[1], NULL, 0, launch->outputs[0], launch);
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

static const ons_case matmul_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)}, .tolerance = 1e-5, .flops = 210},
    {.name = "shared_right", .inputs = {ONS_F32(2, 3, 5), ONS_F32(5, 4)}, .tolerance = 1e-5, .flops = 240},
    {.name = "batched", .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 5, 6)}, .tolerance = 1e-5, .flops = 1440},
    {.name = "broadcast_left", .inputs = {ONS_F32(4, 5), ONS_F32(3, 5, 2)}, .tolerance = 1e-5, .flops = 240},
    {.name = "broadcast_both", .inputs = {ONS_F32(2, 1, 4, 5), ONS_F32(3, 5, 2)}, .tolerance = 1e-5, .flops = 480},
    {.name = "dot", .inputs = {ONS_F32(9), ONS_F32(9)}, .tolerance = 1e-5, .flops = 18},
    {.name = "row", .inputs = {ONS_F32(4), ONS_F32(4, 6)}, .tolerance = 1e-5, .flops = 48},
    {.name = "row_batched", .inputs = {ONS_F32(4), ONS_F32(2, 4, 6)}, .tolerance = 1e-5, .flops = 96},
    {.name = "column", .inputs = {ONS_F32(3, 6, 4), ONS_F32(4)}, .tolerance = 1e-5, .flops = 144},
    {.name = "empty_inner", .inputs = {ONS_F32(3, 0), ONS_F32(0, 2)}, .flops = 0},
    {.name = "empty_rows", .inputs = {ONS_F32(0, 3), ONS_F32(3, 2)}, .flops = 0},
    {.name = "one", .inputs = {ONS_F32(1, 1), ONS_F32(1, 1)}, .tolerance = 1e-5, .flops = 2},
    {.name = "wide",
     .inputs = {ONS_F32(129, 333), ONS_F32(333, 517)},
     .tolerance = 2e-5,
     .flops = 44417538,
     .no_gradient = true},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(128, 512)},
     .tolerance = 1e-5,
     .flops = 268435456,
     .benchmark = true},
    {.name = "gpt_values",
     .inputs = {ONS_F32(16, 4, 128, 128), ONS_F32(16, 4, 128, 32)},
     .tolerance = 1e-5,
     .flops = 67108864,
     .benchmark = true},
    {.name = "inner_differs", .inputs = {ONS_F32(5, 7), ONS_F32(6, 3)}, .error = "inner dimensions"},
    {.name = "scalar", .inputs = {ONS_F32(), ONS_F32(6, 3)}, .error = "scalar"},
    {.name = "batch_differs", .inputs = {ONS_F32(2, 5, 7), ONS_F32(3, 7, 3)}, .error = "broadcast"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(matmul, "MatMul", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(matmul_infer), ONS_COST(matmul_cost), ONS_GRADIENT_RULE(matmul_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(matmul_reference),
                    ONS_CPU_KERNEL(matmul_prepare, matmul_run), ONS_CUDA_KERNEL(matmul_cuda_prepare, ons_cuda_matmul),
                    matmul_cases);
