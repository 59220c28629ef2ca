#include "kernels/pad/padding.h"

#include "kernels/common/layout/axes.h"

/* Far more than any border, and far from overflow. */
static const int64_t border_max = (int64_t)1 << 40;

static ons_status *find_mode(const ons_operands *o, ons_padding_mode *mode) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *name = ons_attribute_string(o, ONS_PADDING_MODE);
    for (int i = ONS_PAD_CONSTANT; i <= ONS_PAD_WRAP; ++i)
        if (strcmp(names[i], name) == 0) {
            *mode = (ons_padding_mode)i;
            return NULL;
        }
    return ons_node_error(o, "unknown mode '%s'", name);
}

static ons_status *find_border(const ons_operands *o, ons_padding *padding) {
    int64_t pads[ONS_INTEGERS_MAX], axes[ONS_INTEGERS_MAX];
    uint32_t pad_count, count, rank = padding->input.rank;
    bool chosen[ONS_RANK_MAX];
    ONS_TRY(ons_constant_integers(o, ONS_PADDING_PADS, pads, &pad_count));
    ONS_TRY(ons_constant_integers(o, ONS_PADDING_AXES, axes, &count));
    ONS_TRY(ons_node_axes(o, axes, count, rank, chosen));
    if (!ons_has_input(o, ONS_PADDING_AXES)) count = rank;
    if (pad_count != 2 * count) return ons_node_error(o, "%u pads for %u axes", pad_count, count);
    for (uint32_t i = 0; i < pad_count; ++i)
        if (pads[i] < -border_max || pads[i] > border_max)
            return ons_node_error(o, "a border of %lld elements", (long long)pads[i]);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t axis = i;
        if (ons_has_input(o, ONS_PADDING_AXES)) ONS_TRY(ons_node_axis(o, axes[i], rank, &axis));
        padding->before[axis] = pads[i];
        padding->after[axis] = pads[count + i];
    }
    return NULL;
}

ons_status *ons_padding_of(const ons_operands *o, const ons_shape *input, ons_padding *padding) {
    *padding = (ons_padding){.input = *input, .output = *input};
    ONS_TRY(find_mode(o, &padding->mode));
    ONS_TRY(find_border(o, padding));
    for (uint32_t i = 0; i < input->rank; ++i) {
        int64_t length = input->dims[i], before = padding->before[i], after = padding->after[i], total;
        if (padding->mode != ONS_PAD_CONSTANT && length == 0 && (before > 0 || after > 0))
            return ons_node_error(o, "axis %u is empty and cannot be continued", i);
        if (__builtin_add_overflow(length, before + after, &total) || total < 0)
            return ons_node_error(o, "axis %u cannot be padded by %lld and %lld", i, (long long)before,
                                  (long long)after);
        padding->output.dims[i] = total;
    }
    return NULL;
}

static int64_t modulo(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

int64_t ons_padding_source(const ons_padding *padding, uint32_t axis, int64_t index) {
    int64_t length = padding->input.dims[axis], period = 2 * (length - 1);
    index -= padding->before[axis];
    if (index >= 0 && index < length) return index;
    switch (padding->mode) {
    case ONS_PAD_REFLECT:
        if (period == 0) return 0;
        index = modulo(index, period);
        return index < length ? index : period - index;
    case ONS_PAD_EDGE: return index < 0 ? 0 : length - 1;
    case ONS_PAD_WRAP: return modulo(index, length);
    default: return -1;
    }
}
