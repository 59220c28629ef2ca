#include "kernels/gelu/gelu_formulas.h"

#include <math.h>

double ons_gelu_tanh(double x) { return 0.5 * x * (1 + tanh(ONS_GELU_SCALE * (x + ONS_GELU_CUBE * x * x * x))); }

double ons_gelu_tanh_slope(double x) {
    double t = tanh(ONS_GELU_SCALE * (x + ONS_GELU_CUBE * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ONS_GELU_SCALE * (1 + 3 * ONS_GELU_CUBE * x * x);
}

double ons_gelu(double x, bool by_tanh) { return by_tanh ? ons_gelu_tanh(x) : 0.5 * x * erfc(-x * M_SQRT1_2); }

bool ons_gelu_by_tanh(const ons_operands *o) { return strcmp(ons_attribute_string(o, 0), "tanh") == 0; }

ons_status *ons_gelu_infer(ons_operands *o) {
    const char *approximate = ons_attribute_string(o, 0);
    ONS_TRY(ons_need_float(o, 0));
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0)
        return ons_node_error(o, "approximate is '%s'; 'none' and 'tanh' are possible", approximate);
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[i].shape))
            return ons_node_error(o, "the operands differ in shape");
    return ons_infer_like_first(o);
}
