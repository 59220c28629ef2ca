#include "kernels/slice/slicing.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Exporters write "to the end" as INT64_MAX and "to the beginning", going backwards, as INT64_MIN + 1. */
static void slice_axis(ons_slicing *s, uint32_t axis, int64_t length, int64_t start, int64_t end, int64_t step) {
    start += start < 0 ? length : 0;
    end += end < 0 ? length : 0;
    int64_t count;
    if (step > 0) {
        start = clamp(start, 0, length);
        end = clamp(end, 0, length);
        count = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = clamp(start, -1, length - 1);
        end = clamp(end, -1, length - 1);
        count = start > end ? (start - end - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1 : 0;
    }
    s->starts[axis] = count > 0 ? start : 0;
    s->steps[axis] = count > 1 ? step : 1;
    s->result.dims[axis] = count;
}

ons_status *ons_slicing_of(const ons_operands *o, const ons_shape *shape, ons_slicing *slicing) {
    int64_t lists[4][ONS_INTEGERS_MAX];
    uint32_t counts[4];
    for (uint32_t i = 0; i < 4; ++i) ONS_TRY(ons_constant_integers(o, i + 1, lists[i], &counts[i]));
    uint32_t count = counts[0];
    bool has_axes = ons_has_input(o, 3), has_steps = ons_has_input(o, 4);
    if (counts[1] != count || (has_axes && counts[2] != count) || (has_steps && counts[3] != count))
        return ons_node_error(o, "starts, ends, axes and steps are of different lengths");
    if (count > shape->rank) return ons_node_error(o, "%u slices of a tensor of rank %u", count, shape->rank);
    *slicing = (ons_slicing){.result = *shape};
    for (uint32_t i = 0; i < shape->rank; ++i) slicing->steps[i] = 1;
    bool used[ONS_RANK_MAX] = {false};
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t axis;
        int64_t step = has_steps ? lists[3][i] : 1;
        ONS_TRY(ons_node_axis(o, has_axes ? lists[2][i] : i, shape->rank, &axis));
        if (used[axis] || step == 0)
            return ons_node_error(o, step == 0 ? "a step of 0 along axis %u" : "axis %u is sliced twice", axis);
        used[axis] = true;
        slice_axis(slicing, axis, shape->dims[axis], lists[0][i], lists[1][i], step);
    }
    return NULL;
}

int64_t ons_slicing_source(const ons_slicing *slicing, const ons_shape *shape, int64_t number) {
    int64_t index[ONS_RANK_MAX];
    ons_unravel(&slicing->result, number, index);
    for (uint32_t i = 0; i < shape->rank; ++i) index[i] = slicing->starts[i] + index[i] * slicing->steps[i];
    return ons_ravel(shape, index);
}
