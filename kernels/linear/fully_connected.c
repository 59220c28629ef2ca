#include "kernels/linear/fully_connected.h"

#include "kernels/operators.h"

ons_gemm_form ons_linear_form(const ons_operands *o) {
    return (ons_gemm_form){.transpose_b = ons_attribute_int(o, 0) != 0, .alpha = 1};
}

ons_status *ons_linear_shape(const ons_operands *o, bool bias, ons_shape *result) {
    ons_gemm_form form = ons_linear_form(o);
    ons_gemm_sizes sizes;
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "the weight and each input must be matrices");
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, result));
    if (bias && (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != sizes.n))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)sizes.n);
    return NULL;
}

ons_status *ons_linear_infer(ons_operands *o) {
    ons_shape result;
    ONS_TRY(ons_linear_shape(o, true, &result));
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

ons_cost ons_linear_cost(const ons_operands *o) {
    double outputs = (double)ons_elements(&o->outputs[0]);
    double inner = (double)o->inputs[0].shape.dims[o->inputs[0].shape.rank - 1];
    return (ons_cost){2 * outputs * inner + outputs, ons_operand_bytes(o)};
}

void ons_linear_reference(const ons_operands *o, const void *const *inputs, double *y) {
    ons_gemm_form form = ons_linear_form(o);
    ons_gemm_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], y);
    const double *bias = inputs[2];
    for (int64_t i = 0, n = o->inputs[2].shape.dims[0], count = ons_elements(&o->outputs[0]); i < count; ++i)
        y[i] += bias[i % n];
}

ons_status *ons_linear_gradient(ons_gradient *g, ons_value_id cotangent) {
    bool transposed = ons_linear_form(g->operands).transpose_b;
    ons_value_id x = ons_gradient_input(g, 0), w = ons_gradient_input(g, 1), dy = cotangent;
    if (g->wanted[0])
        g->gradients[0] =
            ons_build(g->builder, &ons_op_matmul_transposed, ONS_IN(dy, w), ONS_WITH(ONS_AT_INT(1, !transposed)));
    if (g->wanted[1])
        g->gradients[1] = ons_build(g->builder, &ons_op_matmul_transposed, transposed ? ONS_IN(dy, x) : ONS_IN(x, dy),
                                    ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(2, 1))); /* all rows in one product */
    if (g->wanted[2]) g->gradients[2] = dy;
    return NULL;
}
