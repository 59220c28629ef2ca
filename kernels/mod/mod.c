/* Mod: the rest of a division, with the sign of the divisor (fmod 0) or of the dividend (fmod 1). */
#include "kernels/mod/mod.h"

#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_WORDS(mod_floats, double, double, float_rest(a, b, ons_attribute_int(o, FMOD) != 0))

ONS_BINARY_WORDS(mod_integers, int64_t, int64_t, integer_rest(a, b, ons_attribute_int(o, FMOD) != 0))

ONS_BINARY_WORDS(mod_unsigned, uint64_t, uint64_t, b == 0 ? 0 : a % b)

ONS_BINARY_REFERENCES(mod, mod_unsigned)
/* In double, as the quotient of floats can be far larger than a float counts. */

/* The result is a - q·b with a whole q that is constant almost everywhere: q = (a - result) / b. */
static ons_status *mod_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    if (!g->wanted[1]) return NULL;
    ons_value_id multiple = ons_make2(g, &ons_op_sub, ons_gradient_input(g, 0), ons_gradient_output(g, 0));
    ons_value_id quotient = ons_make2(g, &ons_op_div, multiple, ons_gradient_input(g, 1));
    g->gradients[1] = ons_make1(g, &ons_op_neg, ons_make2(g, &ons_op_mul, g->cotangents[0], quotient));
    return NULL;
}

ONS_DEFINE_BINARY(mod, "Mod", ONS_ONNX(10, ONS_NEWEST), ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("fmod", 0)),
                  ONS_INFER(ons_infer_broadcast_numbers), ONS_GRADIENT_RULE(mod_gradient, ONS_ALL_INPUTS),
                  ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                  ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                  ONS_REFERENCE(mod_reference));
