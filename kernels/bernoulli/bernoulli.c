/* Bernoulli: 1 with the probability that the input gives, else 0. The result is a step function of the probability: its
 * derivative is 0 wherever there is one. */
#include "kernels/bernoulli/bernoulli_node.h"

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/checks.h"
#include "kernels/random/random.h"

static ons_status *bernoulli_infer(ons_operands *o) {
    ONS_TRY(ons_random_check_numbers(o));
    ONS_TRY(ons_need_float(o, 0));
    o->outputs[0] = o->inputs[0];
    if (ons_has_attribute(o, ONS_RANDOM_DTYPE)) o->outputs[0].dtype = (ons_dtype)ons_attribute_int(o, ONS_RANDOM_DTYPE);
    if (ons_dtype_size(o->outputs[0].dtype) == 0)
        return ons_node_error(o, "the result cannot have element type %lld", (long long)o->outputs[0].dtype);
    return NULL;
}

static void bernoulli_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    bool is_float = ons_dtype_is_float(o->outputs[0].dtype);
    int64_t first = ons_random_first_element(o);
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(step, ons_elements(&o->outputs[0]), ons_random_unit_elements(o), &unit)) {
        ons_random_key key = ons_random_key_of(&unit.step, step->node_key, &o->attributes[ONS_RANDOM_SEED]);
        for (int64_t i = unit.begin; i < unit.begin + unit.count; ++i) {
            bool one = ons_random_unit_at(&key, first + i - unit.begin) < ((const double *)inputs[0])[i];
            if (is_float)
                ((double *)outputs[0])[i] = one;
            else
                ((int64_t *)outputs[0])[i] = one;
        }
    }
}

ONS_DEFINE_OPERATOR(bernoulli, "Bernoulli", ONS_ONNX(15, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("dtype", ONS_ATTRIBUTE_INT),
                                   ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_FLOAT), ONS_FIRST_ELEMENT_ATTRIBUTE,
                                   ONS_UNIT_ELEMENTS_ATTRIBUTE),
                    ONS_INFER(bernoulli_infer), ONS_COST(ons_random_cost),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(bernoulli_reference));
