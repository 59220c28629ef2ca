#include "kernels/argminmax/argminmax.h"

ons_status *ons_argminmax_infer(ons_operands *o) {
    const ons_shape *input = &o->inputs[0].shape;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, ONS_ARGMINMAX_AXIS), input->rank, &axis));
    if (input->dims[axis] == 0) return ons_node_error(o, "axis %u has no elements to choose from", axis);
    ons_shape shape = {0};
    for (uint32_t i = 0; i < input->rank; ++i)
        if (i != axis || ons_attribute_int(o, ONS_ARGMINMAX_KEEPDIMS) != 0)
            shape.dims[shape.rank++] = i == axis ? 1 : input->dims[i];
    o->outputs[0] = ons_type_make(ONS_INT64, shape);
    return NULL;
}

/* 1 where word `a` wins over word `b`, 0 where they are equal. */
static int compare(ons_dtype dtype, bool largest, const void *words, int64_t a, int64_t b) {
    int order;
    if (ons_dtype_is_float(dtype)) {
        double x = ((const double *)words)[a], y = ((const double *)words)[b];
        if (x != x || y != y) return (x != x) - (y != y);
        order = (x > y) - (x < y);
    } else if (dtype == ONS_UINT64) {
        uint64_t x = ((const uint64_t *)words)[a], y = ((const uint64_t *)words)[b];
        order = (x > y) - (x < y);
    } else {
        int64_t x = ((const int64_t *)words)[a], y = ((const int64_t *)words)[b];
        order = (x > y) - (x < y);
    }
    return largest ? order : -order;
}

void ons_argminmax_reference(const ons_operands *o, bool largest, const void *in, int64_t *out) {
    ons_argminmax s = ons_argminmax_make_state(o);
    for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        int64_t begin = i / s.inner * s.length * s.inner + i % s.inner, best = 0;
        for (int64_t k = 1; k < s.length; ++k) {
            int order = compare(o->inputs[0].dtype, largest, in, begin + k * s.inner, begin + best * s.inner);
            if (order > 0 || (order == 0 && s.last)) best = k;
        }
        out[i] = best;
    }
}
