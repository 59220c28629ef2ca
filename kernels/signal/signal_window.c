#include "kernels/signal/signal_window.h"

#include <math.h>

ons_status *ons_signal_window_infer(ons_operands *o) {
    int64_t size[ONS_INTEGERS_MAX];
    uint32_t count;
    ons_dtype dtype = (ons_dtype)ons_attribute_int(o, 0);
    ONS_TRY(ons_constant_integers(o, 0, size, &count));
    if (count != 1 || size[0] < 0) return ons_node_error(o, "the size must be one number, not below 0");
    if (!ons_dtype_is_float(dtype) && !ons_dtype_is_integer(dtype))
        return ons_node_error(o, "the result cannot have element type %lld", (long long)dtype);
    o->outputs[0] = ons_type_make(dtype, ons_shape_make(1, size));
    return NULL;
}

void ons_signal_window_reference(const ons_operands *o, void *const *outputs, double first, double second,
                                 double third) {
    int64_t n = ons_elements(&o->outputs[0]), period = ons_attribute_int(o, 1) != 0 ? n : n - 1;
    for (int64_t i = 0; i < n; ++i) {
        double turn = 2 * M_PI * (double)i / (double)period;
        double value = period == 0 ? 1 : first - second * cos(turn) + third * cos(2 * turn);
        if (ons_dtype_is_float(o->outputs[0].dtype))
            ((double *)outputs[0])[i] = value;
        else
            ((int64_t *)outputs[0])[i] = (int64_t)value;
    }
}
