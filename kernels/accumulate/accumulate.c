/* The sum of a gradient over the micro-batches: sum + summand in the sum's place; the first micro-batch copies. The
 * summand of a float32 sum may be of a half type. */
#include "kernels/common/operator/kernel.h"

static bool fits(const ons_type *sum, const ons_type *summand) {
    bool widens = sum->dtype == ONS_FLOAT32 && ons_dtype_is_half(summand->dtype);
    return widens ? ons_shape_equal(&sum->shape, &summand->shape) : ons_type_equal(sum, summand);
}

static ons_status *accumulate_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype) || !fits(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "sum %s and summand %s must be floats of one type, or the summand of a half type",
                              ons_type_print(&o->inputs[0], left), ons_type_print(&o->inputs[1], right));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void accumulate_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    const double *sum = inputs[0], *summand = inputs[1];
    double *result = outputs[0];
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i)
        result[i] = step->micro_batch == step->first_micro_batch ? summand[i] : sum[i] + summand[i];
}

ONS_DEFINE_OPERATOR(accumulate, "Accumulate", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(accumulate_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_ACCUMULATE, 0, 0), ONS_ALIASES({ONS_ALIAS_STATE, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(accumulate_reference));
