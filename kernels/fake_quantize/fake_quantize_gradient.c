/* Gradient of FakeQuantize: to x and, where they are wanted, to the two scales. See
 * kernels/quantization/fake_quantization.h. */
#include "kernels/fake_quantize/fake_quantize_gradient_node.h"

#include "kernels/quantization/fake_quantization.h"

static ons_status *fake_quantize_gradient_infer(ons_operands *o) {
    ons_fake fake;
    ONS_TRY(ons_fake_resolve(o, X, &fake));
    if (!ons_type_equal(&o->inputs[DY], &o->inputs[X])) return ons_node_error(o, "cotangent and input differ in type");
    o->outputs[0] = o->inputs[X];
    o->outputs[1] = o->inputs[FROM_SCALE];
    o->outputs[2] = o->inputs[TO_SCALE];
    return NULL;
}

static ons_cost fake_quantize_gradient_cost(const ons_operands *o) {
    return (ons_cost){14 * (double)ons_elements(&o->inputs[X]), ons_operand_bytes(o)};
}

static double zero_at(const ons_operands *o, const void *const *inputs, uint32_t input, int64_t k) {
    return ons_has_input(o, input) ? (double)((const int64_t *)inputs[input])[k] : 0;
}

static void fake_quantize_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_fake fake;
    ons_resolved(ons_fake_resolve(o, X, &fake));
    double *dx = outputs[0], *from = outputs[1], *to = outputs[2];
    for (int64_t k = 0; k < fake.scales.count; ++k) {
        if (from != NULL) from[k] = 0;
        if (to != NULL) to[k] = 0;
    }
    for (int64_t i = 0; i < fake.scales.elements; ++i) {
        int64_t k = ons_scale_of(&fake.scales, i);
        double x = ((const double *)inputs[X])[i], dy = ((const double *)inputs[DY])[i];
        double s = ((const double *)inputs[FROM_SCALE])[k], t = ((const double *)inputs[TO_SCALE])[k];
        double raw = (double)rintf((float)x / (float)s) + zero_at(o, inputs, FROM_ZERO, k);
        double q = fmin(fmax(raw, (double)fake.low), (double)fake.high);
        double inside = raw >= (double)fake.low && raw <= (double)fake.high ? dy * t / s : 0;
        if (dx != NULL) dx[i] = inside;
        if (from != NULL) from[k] -= inside * x / s;
        if (to != NULL) to[k] += dy * (q - zero_at(o, inputs, TO_ZERO, k));
    }
}

ONS_DEFINE_OPERATOR(fake_quantize_gradient, "FakeQuantizeGradient", ONS_INTERNAL, ONS_ARITY(4, 6, 0, 3),
                    ONS_FAKE_ATTRIBUTES, ONS_INFER(fake_quantize_gradient_infer), ONS_COST(fake_quantize_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(fake_quantize_gradient_reference));
