/* Dropout while training: an element is 0 with probability `ratio`, else it is divided by 1 - ratio. The second output
 * says which were kept. */
#include "kernels/dropout_training/dropout_training.h"

#include "kernels/common/operator/checks.h"
#include "kernels/operators.h"
#include "kernels/random/dropout.h"

static ons_status *dropout_training_infer(ons_operands *o) {
    ONS_TRY(ons_random_check_numbers(o));
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    o->outputs[0] = o->inputs[0];
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_BOOL, o->inputs[0].shape);
    return NULL;
}

static void dropout_training_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    double ratio = ons_attribute_float(o, RATIO), scale = ons_dropout_scale(ratio);
    int64_t first = ons_random_first_element(o);
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(step, ons_elements(&o->inputs[0]), ons_random_unit_elements(o), &unit)) {
        ons_dropout_key key = ons_dropout_key_of(&unit.step, step->node_key, &o->attributes[SEED], ratio);
        for (int64_t i = unit.begin; i < unit.begin + unit.count; ++i) {
            uint8_t kept;
            ons_dropout_mask(&key, first + i - unit.begin, 1, &kept);
            ((double *)outputs[0])[i] = kept ? ((const double *)inputs[0])[i] * scale : 0;
            if (ons_has_output(o, 1) && outputs[1] != NULL) ((int64_t *)outputs[1])[i] = kept;
        }
    }
}

static ons_status *dropout_training_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_dropout_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
                  ONS_WITH(ONS_AT_FLOAT(0, ons_attribute_float(g->operands, RATIO))));
    return NULL;
}

static ons_cost dropout_training_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(dropout_training, "DropoutTraining", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5), ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_INT),
                                   ONS_FIRST_ELEMENT_ATTRIBUTE, ONS_UNIT_ELEMENTS_ATTRIBUTE),
                    ONS_INFER(dropout_training_infer), ONS_COST(dropout_training_cost),
                    ONS_GRADIENT_RULE(dropout_training_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(1)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM | ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(dropout_training_reference));
