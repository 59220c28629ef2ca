/* The gradients of a fully connected layer's weight and bias together: aᵀ b, where all dims but the last of either
 * operand are rows of one matrix, and the sums of the columns of one of them, which is the layer's cotangent. A pass
 * makes it for GPUs (graph/passes/fuse_products.h).
 *
 *   summed   the number of that operand: 1 where the weight lies as (inputs, outputs), 0 where it does as (outputs,
 *            inputs) */
#include "kernels/common/cuda_epilogue.h"

enum { SUMMED };

static const ons_product_form form = {.transpose_a = true, .fold = true, .alpha = 1};

static ons_status *linear_weight_gradient_infer(ons_operands *o) {
    ons_product_sizes sizes;
    ons_shape result;
    int64_t summed = ons_attribute_int(o, SUMMED);
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank < 2)
        return ons_node_error(o, "operands must be matrices");
    if (summed != 0 && summed != 1) return ons_node_error(o, "summed is neither 0 nor 1");
    ONS_TRY(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    o->outputs[1] = ons_type_make(o->inputs[0].dtype, (ons_shape){.rank = 1, .dims = {result.dims[summed]}});
    return NULL;
}

static ons_cost linear_weight_gradient_cost(const ons_operands *o) {
    ons_product_sizes sizes;
    ons_shape result;
    ons_status_free(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    double added = (double)ons_elements(&o->inputs[ons_attribute_int(o, SUMMED)]);
    return (ons_cost){ons_product_flops(&sizes) + added, ons_operand_bytes(o)};
}

static void linear_weight_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    (void)step;
    ons_product_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], outputs[0]);
    int64_t summed = ons_attribute_int(o, SUMMED), columns = o->outputs[1].shape.dims[0];
    const double *x = inputs[summed];
    double *sums = outputs[1];
    for (int64_t j = 0; j < columns; ++j) sums[j] = 0;
    for (int64_t i = 0, count = ons_elements(&o->inputs[summed]); i < count; ++i) sums[i % columns] += x[i];
}

typedef struct linear_weight_gradient_state {
    ons_product product; /* first: it is what destroy gets */
    int64_t rows, columns;
    uint32_t summed;
} linear_weight_gradient_state;

static ons_status *linear_weight_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(linear_weight_gradient_state), &memory));
    linear_weight_gradient_state *state = memory;
    state->summed = (uint32_t)ons_attribute_int(o, SUMMED);
    const ons_shape *x = &o->inputs[state->summed].shape;
    state->columns = x->dims[x->rank - 1];
    state->rows = ons_rows_before(x, x->rank - 1);
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, false, false, &state->product);
}

enum { BLOCK = 64 };

/* Columns [first, first + count), row after row. */
static void add_columns(const linear_weight_gradient_state *s, const float *x, int64_t first, int64_t count,
                        float *sums) {
    double block[BLOCK] = {0};
    for (int64_t i = 0; i < s->rows; ++i)
        for (int64_t j = 0; j < count; ++j) block[j] += (double)x[i * s->columns + first + j];
    for (int64_t j = 0; j < count; ++j) sums[first + j] = (float)block[j];
}

static void linear_weight_gradient_run(const ons_launch *launch) {
    const linear_weight_gradient_state *s = launch->state;
    ons_product_run(&s->product, launch->inputs[0], launch->inputs[1], NULL, 0, launch->outputs[0], launch);
    const float *x = launch->inputs[s->summed];
    float *sums = launch->outputs[1];
#pragma omp parallel for schedule(static) if (s->rows * s->columns > ONS_PARALLEL_GRAIN)
    for (int64_t first = 0; first < s->columns; first += BLOCK)
        add_columns(s, x, first, s->columns - first < BLOCK ? s->columns - first : BLOCK, sums);
}

static ons_status *linear_weight_gradient_cuda_prepare(ons_prepare *p) {
    return ons_cuda_linear_weight_gradient_prepare(p, &form, (uint32_t)ons_attribute_int(p->operands, SUMMED));
}

static const ons_case linear_weight_gradient_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(7, 5), ONS_F32(7, 3)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 231},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(2, 3, 8)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 528},
    {.name = "transposed", .inputs = {ONS_F32(2, 3, 8), ONS_F32(6, 5)}, .outputs = 2, .tolerance = 1e-5, .flops = 528},
    {.name = "tall",
     .inputs = {ONS_F32(300, 4), ONS_F32(300, 40)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 108000},
    {.name = "empty",
     .inputs = {ONS_F32(0, 4), ONS_F32(0, 8)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .flops = 0},
    {.name = "no_columns",
     .inputs = {ONS_F32(3, 0), ONS_F32(3, 8)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 24},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(16, 128, 512)},
     .settings = {ONS_SET_INT("summed", 1)},
     .outputs = 2,
     .tolerance = 2e-5,
     .flops = 269484032,
     .benchmark = true},
    {.name = "rows_differ", .inputs = {ONS_F32(7, 5), ONS_F32(6, 3)}, .outputs = 2, .error = "inner dimensions"},
    {.name = "third",
     .inputs = {ONS_F32(7, 5), ONS_F32(7, 3)},
     .settings = {ONS_SET_INT("summed", 2)},
     .outputs = 2,
     .error = "summed"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(linear_weight_gradient, "LinearWeightGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 2, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("summed", 0)), ONS_INFER(linear_weight_gradient_infer),
                    ONS_COST(linear_weight_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(linear_weight_gradient_reference),
                    ONS_CPU_KERNEL(linear_weight_gradient_prepare, linear_weight_gradient_run),
                    ONS_CUDA_KERNEL(linear_weight_gradient_cuda_prepare, ons_cuda_linear_weight_gradient),
                    linear_weight_gradient_cases);
