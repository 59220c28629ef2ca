/* A product with a weight matrix and a bias in one go: MatMul(x, w) + b, as exporters leave a fully connected layer of
 * inputs with more than two dims. `transpose`: the weight lies as (outputs, inputs). */
#include "graph/passes/fuse.h"
#include "kernels/common/cuda_product.h"
#include "kernels/common/product.h"

enum { TRANSPOSE };

static ons_product_form form_of(const ons_operands *o) {
    return (ons_product_form){.transpose_b = ons_attribute_int(o, TRANSPOSE) != 0, .alpha = 1};
}

static ons_status *linear_infer(ons_operands *o) {
    ons_product_form form = form_of(o);
    ons_product_sizes sizes;
    ons_shape result;
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "the weight and each input must be matrices");
    ONS_TRY(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    if (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != sizes.n)
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)sizes.n);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost linear_cost(const ons_operands *o) {
    double outputs = (double)ons_elements(&o->outputs[0]);
    double inner = (double)o->inputs[0].shape.dims[o->inputs[0].shape.rank - 1];
    return (ons_cost){2 * outputs * inner + outputs, ons_operand_bytes(o)};
}

static void linear_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    (void)step;
    ons_product_form form = form_of(o);
    ons_product_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], outputs[0]);
    const double *bias = inputs[2];
    double *y = outputs[0];
    for (int64_t i = 0, n = o->inputs[2].shape.dims[0], count = ons_elements(&o->outputs[0]); i < count; ++i)
        y[i] += bias[i % n];
}

static ons_status *linear_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->outputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->outputs[0].dtype));
    ons_product_form form = form_of(o);
    void *state;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_product), &state));
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, true, false, state);
}

static ons_status *linear_cuda_prepare(ons_prepare *p) {
    ons_product_form form = form_of(p->operands);
    return ons_cuda_product_prepare(p, &form, true);
}

static void linear_run(const ons_launch *launch) {
    ons_product_run(launch->state, launch->inputs[0], launch->inputs[1], launch->inputs[2], 0, launch->outputs[0],
                    launch);
}

static ons_status *linear_gradient(ons_gradient *g) {
    bool transposed = ons_attribute_int(g->operands, TRANSPOSE) != 0;
    ons_value_id x = ons_gradient_input(g, 0), w = ons_gradient_input(g, 1), dy = g->cotangents[0];
    if (g->wanted[0])
        g->gradients[0] =
            ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, w), ONS_WITH(ONS_AT_INT(1, !transposed)));
    if (g->wanted[1])
        g->gradients[1] = ons_build(g->builder, &ons_op_matmul_transposed, transposed ? ONS_IN(dy, x) : ONS_IN(x, dy),
                                    ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(2, 1))); /* all rows in one product */
    if (g->wanted[2]) g->gradients[2] = dy;
    return NULL;
}

static ons_value_id fuse(ons_match *match, bool transposed) {
    ons_type x = ons_match_type(match, "x"), w = ons_match_type(match, "w"), b = ons_match_type(match, "b");
    if (x.dtype != ONS_FLOAT32 || x.shape.rank < 2 || w.shape.rank != 2 || b.shape.rank != 1 ||
        b.shape.dims[0] != w.shape.dims[!transposed])
        return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_linear,
                     ONS_IN(ons_match_value(match, "x"), ons_match_value(match, "w"), ons_match_value(match, "b")),
                     ONS_WITH(ONS_AT_INT(TRANSPOSE, transposed)));
}
static ons_value_id fuse_plain(ons_match *match) { return fuse(match, false); }
/* A matrix has one transposition, whatever the Transpose's attribute says. */
static ons_value_id fuse_transpose(ons_match *match) {
    const ons_attribute *order = &ons_match_node(match, "t")->attributes[0];
    if (order->kind != ONS_ATTRIBUTE_ABSENT && !(order->count == 2 && order->ints[0] == 1)) return ONS_NONE;
    return fuse(match, true);
}
static ons_value_id fuse_transposed(ons_match *match) {
    const ons_operands *product = ons_match_node(match, "p");
    if (ons_attribute_int(product, 0) != 0 || ons_attribute_int(product, 1) == 0 ||
        ons_attribute_int(product, 2) != 0 || ons_attribute_float(product, 3) != 1)
        return ONS_NONE;
    return fuse(match, true);
}

static const ons_case linear_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3), ONS_F32(3)}, .tolerance = 1e-5, .flops = 225},
    {.name = "tokens", .inputs = {ONS_F32(2, 3, 5), ONS_F32(5, 4), ONS_F32(4)}, .tolerance = 1e-5, .flops = 264},
    {.name = "transposed",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(4, 5), ONS_F32(4)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 264},
    {.name = "empty", .inputs = {ONS_F32(2, 0), ONS_F32(0, 4), ONS_F32(4)}, .flops = 8},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(128, 512), ONS_F32(512)},
     .tolerance = 1e-5,
     .flops = 269484032,
     .benchmark = true},
    {.name = "gpt_mlp_back",
     .inputs = {ONS_F32(16, 128, 512), ONS_F32(512, 128), ONS_F32(128)},
     .tolerance = 1e-5,
     .flops = 268697600,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(
    linear, "Linear", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1), ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0)),
    ONS_INFER(linear_infer), ONS_COST(linear_cost), ONS_GRADIENT_RULE(linear_gradient, ONS_ALL_INPUTS),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL,
              ONS_PATTERNS({"Add(MatMul(x, t=Transpose(w)), b)", fuse_transpose}, {"Add(MatMul(x, w), b)", fuse_plain},
                           {"Add(p=MatMulTransposed(x, w), b)", fuse_transposed}),
              NULL),
    ONS_REFERENCE(linear_reference), ONS_CPU_KERNEL(linear_prepare, linear_run),
    ONS_CUDA_KERNEL(linear_cuda_prepare, ons_cuda_linear), linear_cases);
