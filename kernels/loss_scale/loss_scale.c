/* Dynamic scaling of the loss, for gradients in float16: graph/passes/update.h says what goes in and comes out. */
#include "kernels/loss_scale/loss_scale_node.h"

#include "kernels/common/operator/kernel.h"

static ons_status *loss_scale_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    ons_type number = {.dtype = ONS_FLOAT32}, two = {.dtype = ONS_FLOAT32, .shape = {1, {2}}};
    if (!ons_type_equal(&o->inputs[SCALE_IN], &number))
        return ons_node_error(o, "the scale must be a float32 number, not %s",
                              ons_type_print(&o->inputs[SCALE_IN], text));
    if (!ons_type_equal(&o->inputs[COUNTS_IN], &two))
        return ons_node_error(o, "the counts must be float32[2], not %s", ons_type_print(&o->inputs[COUNTS_IN], text));
    for (uint32_t i = SQUARES_IN; i < o->input_count; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT64 || ons_elements(&o->inputs[i]) != 1)
            return ons_node_error(o, "input %u must be a float64 number, not %s", i,
                                  ons_type_print(&o->inputs[i], text));
    for (uint32_t i = 0; i < RESULTS && i < o->output_count; ++i)
        o->outputs[i] = i == COUNTS || i == FACTOR ? two : number;
    return NULL;
}

static ons_cost loss_scale_cost(const ons_operands *o) {
    return (ons_cost){(double)o->input_count, ons_operand_bytes(o)};
}

static void loss_scale_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    const double *counts = inputs[COUNTS_IN];
    double scale = *(const double *)inputs[SCALE_IN], sum = 0, skipped = counts[1];
    for (uint32_t i = SQUARES_IN; i < o->input_count; ++i) sum += *(const double *)inputs[i];
    ons_loss_scaling how = {ons_attribute_float(o, MAX_NORM), ons_attribute_float(o, INTERVAL)};
    ons_scaled_step r = ons_scale_step(how, scale, counts[0], skipped, sum);
    const double results[RESULTS][2] = {{r.scale}, {r.good, r.skipped}, {r.norm}, {r.factor, skipped}, {scale}};
    for (uint32_t i = 0; i < o->output_count; ++i)
        for (int64_t k = 0; outputs[i] != NULL && k < ons_elements(&o->outputs[i]); ++k)
            ((double *)outputs[i])[k] = results[i][k];
}

ONS_DEFINE_OPERATOR(loss_scale, "LossScale", ONS_INTERNAL, ONS_ARITY(3, ONS_VARIADIC, RESULTS, RESULTS),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("max_norm", 0), ONS_FLOAT_ATTRIBUTE("interval", 2000)),
                    ONS_INFER(loss_scale_infer), ONS_COST(loss_scale_cost),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_LOSS_SCALE, 0, 0),
                    ONS_ALIASES({ONS_ALIAS_STATE, SCALE, SCALE_IN}, {ONS_ALIAS_STATE, COUNTS, COUNTS_IN}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(loss_scale_reference));
