/* MaxPoolGradient on the CPU. */
#include <string.h>

#include "kernels/pooling/pooling.h"
#include "kernels/pooling/pooling_simd.h"

static ons_status *max_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    ons_pooling_plan *plan;
    ONS_NEW_STATE(plan, p);
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, false, plan);
}

/* One row of windows into one row of the input, which lies at `to`; `row` is the number of its first window, `taps`
 * that of the first tap that falls into the input row. `count` channels from `c` on. */
static inline __attribute__((always_inline)) void add_channels(const ons_pooling_plan *plan, int64_t row, int32_t taps,
                                                               const float *dy, const void *positions, int64_t c,
                                                               int count, float *to) {
    const ons_window *w = &plan->window;
    int64_t width = plan->width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        int64_t from = (row + ox) * width + c;
        ons_simd_float value = ons_take(dy + from, count);
        ons_simd_int position = plan->wide_position ? ons_take_ints((const int32_t *)positions + from, count)
                                                    : ons_take_bytes((const uint8_t *)positions + from, count);
        for (int32_t kx = span->first; kx < span->end; ++kx) {
            float *at = to + (span->start + kx * w->dilation[2]) * width + c;
            ons_simd_float brought = ons_where_equal(position, taps + kx, value);
            ons_put(at, plan->overlap ? ons_take(at, count) + brought : brought, count);
        }
    }
}

/* A row's gradients in ONNX's order, where the position says at once where the value goes. */
static void add_single(const ons_pooling_plan *plan, int64_t row, int32_t taps, const float *dy, const void *positions,
                       float *to) {
    const ons_window *w = &plan->window;
    for (int64_t ox = 0; ox < w->output[2]; ++ox) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        int32_t position =
            plan->wide_position ? ((const int32_t *)positions)[row + ox] : ((const uint8_t *)positions)[row + ox];
        int32_t kx = position - taps;
        if (kx >= span->first && kx < span->end) to[span->start + kx * w->dilation[2]] += dy[row + ox];
    }
}

/* Row (z, y) of a plane's input: zero, and what the windows that hold it bring, row of windows by row. */
static void make_row(const ons_pooling_plan *plan, int64_t plane, int64_t z, int64_t y, const float *dy,
                     const void *positions, float *dx) {
    const ons_window *w = &plan->window;
    const ons_pooling_cover *planes = &plan->covers[0][z], *rows = &plan->covers[1][y];
    int64_t width = plan->width;
    float *to = dx + ((plane * w->input[0] + z) * w->input[1] + y) * w->input[2] * width;
    memset(to, 0, (size_t)(w->input[2] * width) * sizeof *to);
    for (int64_t oz = planes->first; oz <= planes->last; ++oz)
        for (int64_t oy = rows->first; oy <= rows->last; ++oy) {
            int32_t kz = ons_pooling_tap(w, 0, z, oz), ky = ons_pooling_tap(w, 1, y, oy);
            if (kz < 0 || ky < 0) continue;
            int64_t row = plane * plan->outputs + (oz * w->output[1] + oy) * w->output[2], c = 0;
            int32_t taps = (int32_t)((kz * w->kernel[1] + ky) * w->kernel[2]);
            if (width == 1) {
                add_single(plan, row, taps, dy, positions, to);
                continue;
            }
            for (; c + ONS_SIMD_FLOATS <= width; c += ONS_SIMD_FLOATS)
                add_channels(plan, row, taps, dy, positions, c, ONS_SIMD_FLOATS, to);
            if (c < width) add_channels(plan, row, taps, dy, positions, c, (int)(width - c), to);
        }
}

static void max_pool_gradient_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        make_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->inputs[1],
                 launch->outputs[0]);
}

ONS_KERNELS(cpu, max_pool_gradient, ONS_KERNEL(max_pool_gradient_prepare, max_pool_gradient_run))
