/* FakeQuantize: what is left of a float that goes through an integer and back. See
 * kernels/quantization/fake_quantization.h. */
#include "kernels/fake_quantize/fake_quantize_node.h"

#include "kernels/operators.h"
#include "kernels/quantization/fake_quantization.h"

static ons_status *fake_quantize_infer(ons_operands *o) {
    ons_fake fake;
    ONS_TRY(ons_fake_resolve(o, X, &fake));
    o->outputs[0] = o->inputs[X];
    return NULL;
}

/* Quotient, rounding, two zero points, clipping, product. */
static ons_cost fake_quantize_cost(const ons_operands *o) {
    return (ons_cost){6 * (double)ons_elements(&o->inputs[X]), ons_operand_bytes(o)};
}

static double zero_at(const ons_operands *o, const void *const *inputs, uint32_t input, int64_t k) {
    return ons_has_input(o, input) ? (double)((const int64_t *)inputs[input])[k] : 0;
}

/* The quotient in float, as QuantizeLinear has it: in double a tie may fall the other way. */
static void fake_quantize_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    ons_fake fake;
    ons_resolved(ons_fake_resolve(o, X, &fake));
    const double *from = inputs[FROM_SCALE], *to = inputs[TO_SCALE];
    for (int64_t i = 0; i < fake.scales.elements; ++i) {
        int64_t k = ons_scale_of(&fake.scales, i);
        float q = ons_quantize((float)((const double *)inputs[X])[i], (float)from[k],
                               (float)zero_at(o, inputs, FROM_ZERO, k), fake.low, fake.high);
        ((double *)outputs[0])[i] = ((double)q - zero_at(o, inputs, TO_ZERO, k)) * to[k];
    }
}

static ons_status *fake_quantize_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    bool free = ons_attribute_int(o, ONS_FAKE_FIXED) == 0;
    bool wanted[3] = {g->wanted[X], free && g->wanted[FROM_SCALE], free && g->wanted[TO_SCALE]};
    ons_value_id zeros[2] = {ONS_NONE, ONS_NONE}, results[3];
    for (uint32_t i = 0; i < 2; ++i)
        if (ons_has_input(o, FROM_ZERO + i)) zeros[i] = ons_gradient_input(g, FROM_ZERO + i);
    if (!wanted[0] && !wanted[1] && !wanted[2]) return NULL;
    ons_build_node_like(g->builder, &ons_op_fake_quantize_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, FROM_SCALE),
                               ons_gradient_input(g, TO_SCALE), zeros[0], zeros[1]),
                        o->attributes, 3, wanted, results);
    for (uint32_t i = 0; i < 3; ++i) g->gradients[i] = results[i];
    return NULL;
}

ONS_DEFINE_OPERATOR(fake_quantize, "FakeQuantize", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 1), ONS_FAKE_ATTRIBUTES,
                    ONS_INFER(fake_quantize_infer), ONS_COST(fake_quantize_cost),
                    ONS_GRADIENT_RULE(fake_quantize_gradient,
                                      ONS_INPUT_BIT(X) | ONS_INPUT_BIT(FROM_SCALE) | ONS_INPUT_BIT(TO_SCALE)),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(FROM_SCALE) | ONS_INPUT_BIT(TO_SCALE) |
                                  ONS_INPUT_BIT(FROM_ZERO) | ONS_INPUT_BIT(TO_ZERO),
                              0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, X}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(fake_quantize_reference));
