#include <string.h>

#include "kernels/pooling/pooling.h"
#include "kernels/pooling/pooling_simd.h"

/* One row of windows into one row of the input, which lies at `to`; `row` is the number of its first window in the
 * plane at `dy`. `count` channels from `c` on. */
static inline __attribute__((always_inline)) void add_channels(const ons_pooling_plan *plan, int64_t row,
                                                               const float *dy, int64_t c, int count, float *to) {
    const ons_window *w = &plan->window;
    int64_t width = plan->width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        float scale = plan->scales != NULL ? plan->scales[row + ox] : 1;
        ons_simd_float value = scale * ons_take(dy + (row + ox) * width + c, count);
        for (int32_t kx = span->first; kx < span->end; ++kx) {
            float *at = to + (span->start + kx * w->dilation[2]) * width + c;
            ons_put(at, plan->overlap ? ons_take(at, count) + value : value, count);
        }
    }
}

static void add_single(const ons_pooling_plan *plan, int64_t row, const float *dy, float *to) {
    const ons_window *w = &plan->window;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        float value = plan->scales != NULL ? plan->scales[row + ox] * dy[row + ox] : dy[row + ox];
        for (int32_t kx = span->first; kx < span->end; ++kx) to[span->start + kx * w->dilation[2]] += value;
    }
}

void ons_pooling_collect_row(const ons_pooling_plan *plan, int64_t plane, int64_t z, int64_t y, const float *dy,
                             float *dx) {
    const ons_window *w = &plan->window;
    const ons_pooling_cover *planes = &plan->covers[0][z], *rows = &plan->covers[1][y];
    int64_t width = plan->width;
    const float *from = dy + plane * plan->outputs * width;
    float *to = dx + ((plane * w->input[0] + z) * w->input[1] + y) * w->input[2] * width;
    memset(to, 0, (size_t)(w->input[2] * width) * sizeof *to);
    for (int64_t oz = planes->first; oz <= planes->last; ++oz)
        for (int64_t oy = rows->first; oy <= rows->last; ++oy) {
            if (ons_pooling_tap(w, 0, z, oz) < 0 || ons_pooling_tap(w, 1, y, oy) < 0) continue;
            int64_t row = (oz * w->output[1] + oy) * w->output[2], c = 0;
            if (width == 1) {
                add_single(plan, row, from, to);
                continue;
            }
            for (; c + ONS_SIMD_FLOATS <= width; c += ONS_SIMD_FLOATS)
                add_channels(plan, row, from, c, ONS_SIMD_FLOATS, to);
            if (c < width) add_channels(plan, row, from, c, (int)(width - c), to);
        }
}
