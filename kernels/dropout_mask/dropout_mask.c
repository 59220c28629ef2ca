/* Which elements a Dropout keeps, without the elements: for operators that drop in passing. */
#include "kernels/dropout_mask/dropout_mask.h"

#include "kernels/random/dropout.h"

static ons_status *dropout_mask_infer(ons_operands *o) {
    ONS_TRY(ons_random_check_numbers(o));
    const ons_attribute *given = &o->attributes[SHAPE];
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    o->outputs[0] = ons_type_make(ONS_BOOL, shape);
    return NULL;
}

static void dropout_mask_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    double ratio = ons_attribute_float(o, RATIO);
    int64_t first = ons_random_first_element(o);
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(step, ons_elements(&o->outputs[0]), ons_random_unit_elements(o), &unit)) {
        ons_dropout_key key = ons_dropout_key_of(&unit.step, step->node_key, &o->attributes[SEED], ratio);
        for (int64_t i = 0; i < unit.count; ++i) {
            uint8_t draw;
            ons_dropout_mask(&key, first + i, 1, &draw);
            ((int64_t *)outputs[0])[unit.begin + i] = draw;
        }
    }
}

ONS_DEFINE_OPERATOR(dropout_mask, "DropoutMask", ONS_INTERNAL, ONS_ARITY(0, 0, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5), ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS), ONS_FIRST_ELEMENT_ATTRIBUTE,
                                   ONS_UNIT_ELEMENTS_ATTRIBUTE),
                    ONS_INFER(dropout_mask_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it has no inputs"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(dropout_mask_reference));
