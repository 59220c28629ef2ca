/* Σ x² of all elements, in double: the square of a gradient's norm. */
#include "graph/operator.h"
#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/kernel.h"

static ons_status *square_sum_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_type_print(&o->inputs[0], text));
    o->outputs[0] = ons_type_make(ONS_FLOAT64, (ons_shape){0});
    return NULL;
}

static ons_cost square_sum_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

/* In whatever order they lie, where nothing but elements does; half types are a GPU's, whose order is ONNX's. */
static ons_status *square_sum_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    bool dense = ons_layout_bytes(&o->inputs[0]) == ons_type_dense_bytes(&o->inputs[0]);
    inputs[0] = dense && o->inputs[0].dtype == ONS_FLOAT32 ? o->inputs[0].layout : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

static void square_sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    const double *x = inputs[0];
    double sum = 0;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) sum += x[i] * x[i];
    *(double *)outputs[0] = sum;
}

ONS_DEFINE_OPERATOR(square_sum, "SquareSum", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(square_sum_infer), ONS_COST(square_sum_cost),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_SQUARE_SUM, 0, 0), ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(square_sum_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(square_sum_reference));
