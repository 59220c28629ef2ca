/* Multinomial: numbers of classes, drawn with the probabilities of which the input has the logarithms, up to a constant
 * a row. */
#include "kernels/multinomial/multinomial_node.h"

#include <math.h>

#include "kernels/common/operator/checks.h"
#include "kernels/random/random.h"

static ons_status *multinomial_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t samples = ons_attribute_int(o, SAMPLES);
    ons_dtype dtype = (ons_dtype)ons_attribute_int(o, DTYPE);
    if (dtype != ONS_INT32 && dtype != ONS_INT64) return ons_node_error(o, "the result must be int32 or int64");
    if (shape->rank != 2) return ons_node_error(o, "the input must be [batch, classes]");
    if (samples < 0 || (shape->dims[1] == 0 && samples > 0))
        return ons_node_error(o, "%lld samples of %lld classes", (long long)samples, (long long)shape->dims[1]);
    o->outputs[0] = ons_type_make(dtype, ons_shape_make(2, (int64_t[]){shape->dims[0], samples}));
    return NULL;
}

/* Exponentials, and a walk along them for each sample. */
static ons_cost multinomial_cost(const ons_operands *o) {
    double classes = (double)o->inputs[0].shape.dims[1];
    return (ons_cost){classes * (double)(o->inputs[0].shape.dims[0] + ons_elements(&o->outputs[0])),
                      ons_operand_bytes(o)};
}

static double total_of(const double *row, int64_t classes, double *largest) {
    double sum = 0;
    *largest = -INFINITY;
    for (int64_t c = 0; c < classes; ++c) *largest = fmax(*largest, row[c]);
    for (int64_t c = 0; c < classes; ++c) sum += exp(row[c] - *largest);
    return sum;
}

static void multinomial_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    ons_random_key key = ons_random_key_of(step, step->node_key, &o->attributes[SEED]);
    int64_t classes = o->inputs[0].shape.dims[1], samples = o->outputs[0].shape.dims[1];
    for (int64_t b = 0; b < o->inputs[0].shape.dims[0]; ++b) {
        const double *row = (const double *)inputs[0] + b * classes;
        double largest, total = total_of(row, classes, &largest);
        for (int64_t s = 0; s < samples; ++s) {
            double left = ons_random_unit_at(&key, b * samples + s) * total;
            int64_t chosen = 0;
            /* False for NaN: then it is class 0. Rounding cannot lead past the last one. */
            while (chosen + 1 < classes && (left -= exp(row[chosen] - largest)) >= 0) ++chosen;
            ((int64_t *)outputs[0])[b * samples + s] = chosen;
        }
    }
}

ONS_DEFINE_OPERATOR(multinomial, "Multinomial", ONS_ONNX(7, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("dtype", ONS_INT32),
                                   ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_FLOAT),
                                   ONS_INT_ATTRIBUTE("sample_size", 1)),
                    ONS_INFER(multinomial_infer), ONS_COST(multinomial_cost),
                    ONS_NOT_DIFFERENTIABLE("the result is a class number, which does not change gradually"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(multinomial_reference));
