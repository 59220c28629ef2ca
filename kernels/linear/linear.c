/* A product with a weight matrix and a bias in one go: MatMul(x, w) + b, as exporters leave a fully connected layer of
 * inputs with more than two dims. `transpose`: the weight lies as (outputs, inputs). */
#include "graph/passes/fuse.h"
#include "kernels/linear/fully_connected.h"
#include "kernels/operators.h"

static void linear_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    ons_linear_reference(o, inputs, outputs[0]);
}

static ons_status *linear_gradient(ons_gradient *g) { return ons_linear_gradient(g, g->cotangents[0]); }

static ons_value_id fuse(ons_match *match, bool transposed) {
    ons_type x = ons_match_type(match, "x"), w = ons_match_type(match, "w"), b = ons_match_type(match, "b");
    if (x.dtype != ONS_FLOAT32 || x.shape.rank < 2 || w.shape.rank != 2 || b.shape.rank != 1 ||
        b.shape.dims[0] != w.shape.dims[!transposed])
        return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_linear,
                     ONS_IN(ons_match_value(match, "x"), ons_match_value(match, "w"), ons_match_value(match, "b")),
                     ONS_WITH(ONS_AT_INT(0, transposed)));
}

static ons_value_id fuse_plain(ons_match *match) { return fuse(match, false); }

/* A matrix has one transposition, whatever the Transpose's attribute says. */
static ons_value_id fuse_transpose(ons_match *match) {
    const ons_attribute *order = &ons_match_node(match, "t")->attributes[0];
    if (order->kind != ONS_ATTRIBUTE_ABSENT && !(order->count == 2 && order->ints[0] == 1)) return ONS_NONE;
    return fuse(match, true);
}

static ons_value_id fuse_transposed(ons_match *match) {
    const ons_operands *gemm = ons_match_node(match, "p");
    if (ons_attribute_int(gemm, 0) != 0 || ons_attribute_int(gemm, 1) == 0 || ons_attribute_int(gemm, 2) != 0 ||
        ons_attribute_float(gemm, 3) != 1)
        return ONS_NONE;
    return fuse(match, true);
}

ONS_DEFINE_OPERATOR(
    linear, "Linear", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1), ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0)),
    ONS_INFER(ons_linear_infer), ONS_COST(ons_linear_cost), ONS_GRADIENT_RULE(linear_gradient, ONS_ALL_INPUTS),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL,
              ONS_PATTERNS({"Add(MatMul(x, t=Transpose(w)), b)", fuse_transpose}, {"Add(MatMul(x, w), b)", fuse_plain},
                           {"Add(p=MatMulTransposed(x, w), b)", fuse_transposed}),
              NULL),
    ONS_REFERENCE(linear_reference));
