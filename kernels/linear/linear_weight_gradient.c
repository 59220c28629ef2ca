/* The gradients of a fully connected layer's weight and bias together: aᵀ b, where all dims but the last of either
 * operand are rows of one matrix, and the sums of the columns of one of them, which is the layer's cotangent. A pass
 * makes it for GPUs (graph/passes/fuse_gemm.h).
 *
 *   summed   the number of that operand: 1 where the weight lies as (inputs, outputs), 0 where it does as (outputs,
 *            inputs) */
#include "kernels/linear/linear_weight_gradient.h"

static ons_status *linear_weight_gradient_infer(ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    int64_t summed = ons_attribute_int(o, SUMMED);
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank < 2)
        return ons_node_error(o, "operands must be matrices");
    if (summed != 0 && summed != 1) return ons_node_error(o, "summed is neither 0 nor 1");
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    o->outputs[1] = ons_type_make(o->inputs[0].dtype, (ons_shape){.rank = 1, .dims = {result.dims[summed]}});
    return NULL;
}

static ons_cost linear_weight_gradient_cost(const ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    double added = (double)ons_elements(&o->inputs[ons_attribute_int(o, SUMMED)]);
    return (ons_cost){ons_gemm_flops(&sizes) + added, ons_operand_bytes(o)};
}

static void linear_weight_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_gemm_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], outputs[0]);
    int64_t summed = ons_attribute_int(o, SUMMED), columns = o->outputs[1].shape.dims[0];
    const double *x = inputs[summed];
    double *sums = outputs[1];
    for (int64_t j = 0; j < columns; ++j) sums[j] = 0;
    for (int64_t i = 0, count = ons_elements(&o->inputs[summed]); i < count; ++i) sums[i % columns] += x[i];
}

ONS_DEFINE_OPERATOR(linear_weight_gradient, "LinearWeightGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 2, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("summed", 0)), ONS_INFER(linear_weight_gradient_infer),
                    ONS_COST(linear_weight_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(linear_weight_gradient_reference));
