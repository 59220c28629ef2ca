/* What the CPU runs of unfold.h. */
#include "kernels/col2im/unfold.h"

ons_unfold_run ons_unfold_find_run(const ons_unfold *u, int64_t tap, int64_t row) {
    uint32_t last = u->dims - 1;
    int64_t shift = tap % u->block[last] * u->dilation[last] - u->begin[last], step = u->stride[last];
    int64_t first = shift < 0 ? (-shift + step - 1) / step : 0, reach = u->image[last] - shift;
    int64_t end = reach <= 0 ? 0 : (reach + step - 1) / step, pixel = 0, stride = u->image[last];
    end = end < u->blocks[last] ? end : u->blocks[last];
    tap /= u->block[last];
    for (uint32_t i = last; i-- > 0;) {
        int64_t at = row % u->blocks[i] * u->stride[i] + tap % u->block[i] * u->dilation[i] - u->begin[i];
        if (at < 0 || at >= u->image[i]) return (ons_unfold_run){0, 0, 0};
        pixel += at * stride;
        stride *= u->image[i];
        row /= u->blocks[i];
        tap /= u->block[i];
    }
    return (ons_unfold_run){first, end, pixel + shift};
}
