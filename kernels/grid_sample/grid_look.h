/* What a place of a grid sees: finds the elements, weights and slopes of grid.h, by the same code on CPU and CUDA. */
#ifndef ONSTAGE_KERNELS_GRID_SAMPLE_GRID_LOOK_H
#define ONSTAGE_KERNELS_GRID_SAMPLE_GRID_LOOK_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/grid_sample/grid.h"

ONS_HOST_DEVICE static inline int32_t ons_grid_taps_of(const ons_grid *g) {
    return g->mode == ONS_GRID_NEAREST ? 1 : g->mode == ONS_GRID_LINEAR ? 2 : ONS_GRID_TAPS;
}

/* ---- one axis */

typedef struct ons_grid_taps {
    int64_t index[ONS_GRID_TAPS];
    double weight[ONS_GRID_TAPS], slope[ONS_GRID_TAPS];
} ons_grid_taps;

/* Mirrored at the ends until it lies between them; *sign changes with the direction. */
ONS_HOST_DEVICE static inline double ons_grid_reflect(double x, double low, double high, double *sign) {
    double range = high - low;
    if (range <= 0) {
        *sign = 0;
        return low;
    }
    double offset = fmod(x - low, 2 * range);
    if (offset < 0) offset += 2 * range;
    *sign = offset <= range ? 1 : -1;
    return offset <= range ? low + offset : high - (offset - range);
}

/* The position along an axis, and its derivative by the coordinate. */
ONS_HOST_DEVICE static inline double ons_grid_locate(const ons_grid *g, int64_t length, double coordinate,
                                                     double *derivative) {
    double last = (double)(length - 1), sign;
    double x = g->align_corners ? (coordinate + 1) / 2 * last : ((coordinate + 1) * (double)length - 1) / 2;
    double low = g->align_corners ? 0 : -0.5, high = g->align_corners ? last : last + 0.5;
    *derivative = (g->align_corners ? last : (double)length) / 2;
    if (!(x - x == 0)) x = -9; /* outside, as for PyTorch */
    if (g->mode == ONS_GRID_NEAREST) x = rint(x);
    if (g->padding == ONS_GRID_ZEROS) return fmin(fmax(x, -9.0), (double)length + 9); /* sees nothing there */
    if (x >= low && x <= high) return x;
    if (g->padding == ONS_GRID_BORDER) {
        *derivative = 0;
        return fmin(fmax(x, 0.0), last);
    }
    x = ons_grid_reflect(x, low, high, &sign);
    *derivative *= sign;
    return x;
}

/* An element beside the ends. */
ONS_HOST_DEVICE static inline int64_t ons_grid_settle(const ons_grid *g, int64_t length, int64_t index) {
    if (index >= 0 && index < length) return index;
    if (g->padding == ONS_GRID_ZEROS) return -1;
    if (g->padding == ONS_GRID_BORDER) return index < 0 ? 0 : length - 1;
    int64_t period = g->align_corners ? 2 * (length - 1) : 2 * length;
    if (period == 0) return 0;
    index %= period;
    index += index < 0 ? period : 0;
    return index < length ? index : g->align_corners ? period - index : period - 1 - index;
}

/* Keys' cubic convolution with a = -0.75, and its derivative. */
ONS_HOST_DEVICE static inline void ons_grid_cubic_weights(double t, double *weight, double *slope) {
    const double a = -0.75;
    double far = t + 1, near = 1 - t, beyond = 2 - t;
    weight[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
    weight[3] = ((a * beyond - 5 * a) * beyond + 8 * a) * beyond - 4 * a;
    slope[0] = (3 * a * far - 10 * a) * far + 8 * a;
    slope[1] = (3 * (a + 2) * t - 2 * (a + 3)) * t;
    slope[2] = -(3 * (a + 2) * near - 2 * (a + 3)) * near;
    slope[3] = -((3 * a * beyond - 10 * a) * beyond + 8 * a);
}

ONS_HOST_DEVICE static inline void ons_grid_find_taps(const ons_grid *g, int64_t length, double coordinate,
                                                      ons_grid_taps *t) {
    double derivative, x = ons_grid_locate(g, length, coordinate, &derivative), base = floor(x);
    int64_t first = (int64_t)base - (g->mode == ONS_GRID_CUBIC);
    for (int32_t k = 0; k < ONS_GRID_TAPS; ++k) {
        t->index[k] = 0;
        t->weight[k] = k == 0 ? 1 : 0;
        t->slope[k] = 0;
    }
    if (g->mode == ONS_GRID_LINEAR) {
        t->weight[0] = 1 - (x - base);
        t->weight[1] = x - base;
        t->slope[0] = -1;
        t->slope[1] = 1;
    } else if (g->mode == ONS_GRID_CUBIC) {
        ons_grid_cubic_weights(x - base, t->weight, t->slope);
    }
    for (int32_t k = 0; k < ons_grid_taps_of(g); ++k) {
        t->index[k] = ons_grid_settle(g, length, first + k);
        t->slope[k] *= derivative;
    }
}

/* ---- all axes */

/* `place` has `dims` coordinates. */
ONS_HOST_DEVICE static inline void ons_grid_look(const ons_grid *g, const double *place, ons_grid_view *view) {
    ons_grid_taps axes[ONS_GRID_DIMS];
    int32_t count = ons_grid_taps_of(g);
    for (int32_t i = 0; i < g->dims; ++i) ons_grid_find_taps(g, g->lengths[i], place[g->dims - 1 - i], &axes[i]);
    for (int32_t k = 0; k < g->combinations; ++k) {
        int64_t element = 0;
        double weight = 1, slope[ONS_GRID_DIMS] = {1, 1, 1};
        bool inside = true;
        for (int32_t i = 0, rest = k; i < g->dims; ++i, rest /= count) {
            const ons_grid_taps *axis = &axes[i];
            int32_t tap = rest % count;
            inside &= axis->index[tap] >= 0;
            element = element * g->lengths[i] + axis->index[tap];
            weight *= axis->weight[tap];
            for (int32_t j = 0; j < g->dims; ++j) slope[j] *= j == i ? axis->slope[tap] : axis->weight[tap];
        }
        view->element[k] = inside ? element : -1;
        view->weight[k] = weight;
        for (int32_t i = 0; i < g->dims; ++i) view->slope[g->dims - 1 - i][k] = slope[i];
    }
}

#endif
