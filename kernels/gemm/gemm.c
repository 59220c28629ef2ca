/* Gemm: alpha × op(A) op(B) + beta × C, where C broadcasts to the result. */
#include "graph/upgrade.h"
#include "kernels/common/cuda_product.h"
#include "kernels/common/product.h"

enum { ALPHA, BETA, TRANSPOSE_A, TRANSPOSE_B };

static ons_product_form form_of(const ons_operands *o) {
    return (ons_product_form){.transpose_a = ons_attribute_int(o, TRANSPOSE_A) != 0,
                              .transpose_b = ons_attribute_int(o, TRANSPOSE_B) != 0,
                              .alpha = ons_attribute_float(o, ALPHA)};
}

static ons_status *gemm_infer(ons_operands *o) {
    ons_product_form form = form_of(o);
    ons_product_sizes sizes;
    ons_shape result, joined;
    if (o->inputs[0].shape.rank != 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "A and B must be matrices");
    if (o->inputs[0].dtype != o->inputs[1].dtype || (ons_has_input(o, 2) && o->inputs[2].dtype != o->inputs[0].dtype))
        return ons_node_error(o, "operands have different element types");
    ONS_TRY(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
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

/* Distance in C of neighbours along rows and along columns of the result; 0 where C repeats. */
typedef struct steps {
    int64_t row, column;
} steps;

static steps steps_of(const ons_shape *c) {
    int64_t rows = c->rank == 2 ? c->dims[0] : 1, columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
    return (steps){.row = rows > 1 ? columns : 0, .column = columns > 1 ? 1 : 0};
}

static void gemm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    (void)step;
    ons_product_form form = form_of(o);
    const ons_shape *a = &o->inputs[0].shape, *b = &o->inputs[1].shape;
    int64_t rows = o->outputs[0].shape.dims[0], columns = o->outputs[0].shape.dims[1];
    bool real = ons_dtype_is_float(o->inputs[0].dtype);
    if (real)
        ons_product_reference(o, a, b, &form, inputs[0], inputs[1], outputs[0]);
    else
        ons_product_reference_integer(o, a, b, &form, inputs[0], inputs[1], outputs[0]);
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

typedef struct gemm_state {
    ons_product product; /* first: it is what destroy gets */
    bool added;          /* C goes into the result first, and the product is added to it */
    bool bias;           /* C is a row vector and part of the product */
    steps steps;
    float beta;
} gemm_state;

static ons_status *gemm_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->outputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->outputs[0].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(gemm_state), &memory));
    gemm_state *state = memory;
    ons_product_form form = form_of(o);
    state->beta = (float)ons_attribute_float(o, BETA);
    if (ons_has_input(o, 2) && state->beta != 0) {
        const ons_shape *c = &o->inputs[2].shape;
        state->steps = steps_of(c);
        state->bias = c->rank > 0 && c->dims[c->rank - 1] == o->outputs[0].shape.dims[1] && state->steps.row == 0 &&
                      state->beta == 1 && form.alpha == 1;
        state->added = !state->bias;
    }
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, state->bias, state->added,
                               &state->product);
}

/* The same on CUDA, where C goes into the result by a kernel of its own (gemm.cu) unless it is a row vector. */
static ons_status *gemm_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_gemm_node *state;
    ONS_NEW(state, p->arena, 1);
    p->state = state;
    ons_product_form form = form_of(o);
    bool bias = false;
    state->beta = (float)ons_attribute_float(o, BETA);
    if (ons_has_input(o, 2) && state->beta != 0) {
        const ons_shape *c = &o->inputs[2].shape;
        steps along = steps_of(c);
        bias = c->rank > 0 && c->dims[c->rank - 1] == o->outputs[0].shape.dims[1] && along.row == 0 && state->beta == 1;
        state->added = !bias;
        state->bias = bias;
        state->row = along.row;
        state->column = along.column;
    }
    state->rows = o->outputs[0].shape.dims[0];
    state->columns = o->outputs[0].shape.dims[1];
    return ons_cuda_product_plan(p, &form, bias ? ONS_CUDA_BIAS : ONS_CUDA_PLAIN, state->added, &state->product);
}

static void spread(const gemm_state *state, const float *c, float *y) {
    int64_t rows = state->product.sizes.m, columns = state->product.sizes.n;
    steps s = state->steps;
    float beta = state->beta;
#pragma omp parallel for schedule(static) if (rows * columns > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        const float *restrict from = c + i * s.row;
        float *restrict to = y + i * columns;
        if (s.column == 1)
            for (int64_t j = 0; j < columns; ++j) to[j] = beta * from[j];
        else
            for (int64_t j = 0; j < columns; ++j) to[j] = beta * from[0];
    }
}

static void gemm_run(const ons_launch *launch) {
    const gemm_state *state = launch->state;
    if (state->added) spread(state, launch->inputs[2], launch->outputs[0]);
    ons_product_run(&state->product, launch->inputs[0], launch->inputs[1], state->bias ? launch->inputs[2] : NULL,
                    state->added ? 1 : 0, launch->outputs[0], launch);
}

/* dA = alpha dy op(B)ᵀ and dB = alpha op(A)ᵀ dy, each built transposed where the operand was; dC = beta dy. */
static ons_status *gemm_gradient(ons_gradient *g) {
    ons_product_form form = form_of(g->operands);
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

/* Before opset 7 broadcasting the third operand was asked for. */
static ons_status *gemm_upgrade(ons_upgrade *u) {
    if (u->opset < 7) ons_upgrade_remove(u, "broadcast");
    return NULL;
}

static const ons_case gemm_cases[] = {
    {.name = "plain", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)}, .tolerance = 1e-5, .flops = 210},
    {.name = "linear",
     .inputs = {ONS_F32(5, 7), ONS_F32(3, 7), ONS_F32(3)},
     .settings = {ONS_SET_INT("transB", 1)},
     .tolerance = 1e-5,
     .flops = 225},
    {.name = "transposed_left",
     .inputs = {ONS_F32(7, 5), ONS_F32(7, 3), ONS_F32(5, 1)},
     .settings = {ONS_SET_INT("transA", 1), ONS_SET_FLOAT("alpha", 0.5), ONS_SET_FLOAT("beta", 2)},
     .tolerance = 1e-5,
     .flops = 225},
    {.name = "transposed_both",
     .inputs = {ONS_F32(7, 5), ONS_F32(3, 7), ONS_F32(5, 3)},
     .settings = {ONS_SET_INT("transA", 1), ONS_SET_INT("transB", 1), ONS_SET_FLOAT("alpha", -1.5)},
     .tolerance = 1e-5,
     .flops = 225},
    {.name = "scaled_bias",
     .inputs = {ONS_F32(4, 6), ONS_F32(6, 3), ONS_F32(1, 3)},
     .settings = {ONS_SET_FLOAT("alpha", 0.25)},
     .tolerance = 1e-5,
     .flops = 156},
    {.name = "scalar_c", .inputs = {ONS_F32(4, 6), ONS_F32(6, 3), ONS_F32()}, .tolerance = 1e-5, .flops = 156},
    {.name = "beta_zero",
     .inputs = {ONS_F32(4, 6), ONS_F32(6, 3), ONS_F32(3)},
     .settings = {ONS_SET_FLOAT("beta", 0)},
     .tolerance = 1e-5,
     .flops = 156},
    {.name = "empty_inner", .inputs = {ONS_F32(4, 0), ONS_F32(0, 3), ONS_F32(4, 3)}, .flops = 12},
    {.name = "mlp",
     .inputs = {ONS_F32(64, 784), ONS_F32(512, 784), ONS_F32(512)},
     .settings = {ONS_SET_INT("transB", 1)},
     .tolerance = 2e-5,
     .flops = 51412992,
     .benchmark = true},
    {.name = "c_too_large", .inputs = {ONS_F32(4, 6), ONS_F32(6, 3), ONS_F32(2, 4, 3)}, .error = "broadcast"},
    {.name = "not_matrices", .inputs = {ONS_F32(4, 6, 1), ONS_F32(6, 3)}, .error = "matrices"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gemm, "Gemm", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1), ONS_FLOAT_ATTRIBUTE("beta", 1),
                                   ONS_INT_ATTRIBUTE("transA", 0), ONS_INT_ATTRIBUTE("transB", 0)),
                    ONS_INFER(gemm_infer), ONS_COST(gemm_cost), ONS_GRADIENT_RULE(gemm_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_FORMS(gemm_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(gemm_reference),
                    ONS_CPU_KERNEL(gemm_prepare, gemm_run), ONS_CUDA_KERNEL(gemm_cuda_prepare, ons_cuda_gemm),
                    gemm_cases);
