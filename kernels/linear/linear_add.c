/* A product with a weight matrix, with something of its result's size added, as libraries compute both in one go: a
 * layer in front of a residual sum or, on GPUs, what a layer hands back in front of a sum of gradients. A pass makes it
 * (graph/passes/fuse_gemm.h).
 *
 *   y = x op(w) (+ bias) + added
 *
 * Inputs are x, w, bias where there is one, and last what is added, perhaps in another shape. */
#include "kernels/linear/linear_add.h"

#include "kernels/operators.h"

static ons_status *linear_add_infer(ons_operands *o) {
    ons_shape result;
    ONS_TRY(ons_linear_shape(o, ons_linear_added(o) == 3, &result));
    if (ons_elements(&o->inputs[ons_linear_added(o)]) != ons_shape_elements(&result))
        return ons_node_error(o, "what is added must have %lld elements", (long long)ons_shape_elements(&result));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static ons_cost linear_add_cost(const ons_operands *o) {
    double outputs = (double)ons_elements(&o->outputs[0]);
    double inner = (double)o->inputs[0].shape.dims[o->inputs[0].shape.rank - 1];
    return (ons_cost){2 * outputs * inner + outputs * (o->input_count - 2), ons_operand_bytes(o)};
}

static void linear_add_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_gemm_form form = ons_linear_form(o);
    double *y = outputs[0];
    ons_gemm_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], y);
    const double *bias = o->input_count > 3 ? inputs[2] : NULL, *added = inputs[ons_linear_added(o)];
    int64_t n = o->outputs[0].shape.dims[o->outputs[0].shape.rank - 1];
    for (int64_t i = 0, count = ons_elements(&o->outputs[0]); i < count; ++i)
        y[i] += added[i] + (bias != NULL ? bias[i % n] : 0);
}

ONS_DEFINE_OPERATOR(linear_add, "LinearAdd", ONS_INTERNAL, ONS_ARITY(3, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0)), ONS_INFER(linear_add_infer),
                    ONS_COST(linear_add_cost), ONS_NOT_DIFFERENTIABLE("it is made of what is differentiated already"),
                    ONS_SAVES_NOTHING, ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(linear_add_reference));
