/* The norm over all gradients from their square sums, and by what the gradients are multiplied so that it stays below
 * max_norm (ons_clip_factor_of). Where they are clipped and the norm is NaN, so is the factor. */
#include "kernels/clip_factor/clip_factor.h"

#include <math.h>

#include "kernels/common/operator/kernel.h"

static ons_status *clip_factor_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT64 || ons_elements(&o->inputs[i]) != 1)
            return ons_node_error(o, "input %u must be a float64 number, not %s", i,
                                  ons_type_print(&o->inputs[i], text));
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = ons_type_make(ONS_FLOAT32, (ons_shape){0});
    return NULL;
}

static ons_cost clip_factor_cost(const ons_operands *o) {
    return (ons_cost){(double)o->input_count, ons_operand_bytes(o)};
}

static void clip_factor_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    double sum = 0;
    for (uint32_t i = 0; i < o->input_count; ++i) sum += *(const double *)inputs[i];
    if (outputs[0] != NULL) *(double *)outputs[0] = sqrt(sum);
    if (outputs[1] != NULL) *(double *)outputs[1] = ons_clip_factor_of(sqrt(sum), ons_attribute_float(o, 0));
}

ONS_DEFINE_OPERATOR(clip_factor, "ClipFactor", ONS_INTERNAL, ONS_ARITY(1, ONS_VARIADIC, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("max_norm", 0)), ONS_INFER(clip_factor_infer),
                    ONS_COST(clip_factor_cost), ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_CLIP_FACTOR, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(clip_factor_reference));
