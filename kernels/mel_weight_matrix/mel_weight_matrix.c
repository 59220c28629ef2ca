/* MelWeightMatrix: triangles over the frequencies of a spectrum, evenly spaced in mels. */
#include <math.h>

#include "kernels/common/operator/checks.h"

enum { BINS, LENGTH, RATE, LOWER, UPPER };

static ons_status *mel_weight_matrix_infer(ons_operands *o) {
    int64_t bins[ONS_INTEGERS_MAX], length[ONS_INTEGERS_MAX];
    uint32_t bins_count, length_count;
    ons_dtype dtype = (ons_dtype)ons_attribute_int(o, 0);
    ONS_TRY(ons_constant_integers(o, BINS, bins, &bins_count));
    ONS_TRY(ons_constant_integers(o, LENGTH, length, &length_count));
    if (bins_count != 1 || length_count != 1 || bins[0] < 0 || length[0] < 1)
        return ons_node_error(o, "the number of bins and the length must be one number each, above 0");
    for (uint32_t i = RATE; i <= UPPER; ++i)
        if (ons_elements(&o->inputs[i]) != 1) return ons_node_error(o, "input %u must be one number", i);
    ONS_TRY(ons_need_float(o, LOWER));
    ONS_TRY(ons_need_float(o, UPPER));
    ONS_TRY(ons_need_number(o, RATE));
    if (!ons_dtype_is_float(dtype) && !ons_dtype_is_integer(dtype))
        return ons_node_error(o, "the result cannot have element type %lld", (long long)dtype);
    o->outputs[0] = ons_type_make(dtype, ons_shape_make(2, (int64_t[]){length[0] / 2 + 1, bins[0]}));
    return NULL;
}

static double number_at(const ons_operands *o, const void *const *inputs, uint32_t input) {
    return ons_dtype_is_float(o->inputs[input].dtype) ? *(const double *)inputs[input]
                                                      : (double)*(const int64_t *)inputs[input];
}

typedef struct mel {
    double low, step, length, rate;
} mel;

/* The bin of the spectrum at which triangle `i` begins. */
static double edge(const mel *m, int64_t i) {
    double hertz = 700 * (pow(10, (m->low + m->step * (double)i) / 2595) - 1);
    return floor((m->length + 1) * hertz / m->rate);
}

static double height(double left, double middle, double right, double at) {
    if (at >= middle && at < right) return (right - at) / (right - middle);
    if (at == middle) return 1;
    return at >= left && at < middle ? (at - left) / (middle - left) : 0;
}

static void mel_weight_matrix_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    int64_t rows = o->outputs[0].shape.dims[0], bins = o->outputs[0].shape.dims[1];
    mel m = {.low = 2595 * log10(1 + number_at(o, inputs, LOWER) / 700),
             .length = number_at(o, inputs, LENGTH),
             .rate = number_at(o, inputs, RATE)};
    m.step = (2595 * log10(1 + number_at(o, inputs, UPPER) / 700) - m.low) / (double)(bins + 2);
    for (int64_t i = 0; i < rows * bins; ++i) {
        int64_t bin = i % bins, row = i / bins;
        double value = height(edge(&m, bin), edge(&m, bin + 1), edge(&m, bin + 2), (double)row);
        if (ons_dtype_is_float(o->outputs[0].dtype))
            ((double *)outputs[0])[i] = value;
        else
            ((int64_t *)outputs[0])[i] = (int64_t)value;
    }
}

ONS_DEFINE_OPERATOR(mel_weight_matrix, "MelWeightMatrix", ONS_ONNX(17, ONS_NEWEST), ONS_ARITY(5, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("output_datatype", ONS_FLOAT32)),
                    ONS_INFER(mel_weight_matrix_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("its edges are rounded to bins of the spectrum"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mel_weight_matrix_reference));
