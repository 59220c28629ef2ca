/* Hardmax on the CPU. */
#include "kernels/hardmax/hardmax.h"

#include <string.h>

#include "kernels/softmax/softmax_axis.h"

static void hardmax_row(const float *x, float *y, int64_t n) {
    int64_t best = 0;
    if (n == 0) return;
    for (int64_t k = 1; k < n; ++k)
        if (IS_LARGER(x[k], x[best])) best = k;
    memset(y, 0, (size_t)n * sizeof *y);
    y[best] = 1;
}

static void hardmax_columns(const float *x, float *y, int64_t length, int64_t stride, int width) {
    float max[ONS_COLUMNS];
    int64_t best[ONS_COLUMNS] = {0};
    for (int c = 0; length > 0 && c < width; ++c) max[c] = x[c];
    for (int64_t k = 1; k < length; ++k)
        for (int c = 0; c < width; ++c)
            if (IS_LARGER(x[k * stride + c], max[c])) {
                max[c] = x[k * stride + c];
                best[c] = k;
            }
    for (int64_t k = 0; k < length; ++k)
        for (int c = 0; c < width; ++c) y[k * stride + c] = k == best[c] ? 1.0f : 0.0f;
}

static void hardmax_run(const ons_launch *launch) {
    ons_each_row(launch->state, launch->inputs[0], launch->outputs[0], hardmax_row, hardmax_columns);
}

ONS_KERNELS(cpu, hardmax, ONS_KERNEL(ons_softmax_prepare, hardmax_run))
