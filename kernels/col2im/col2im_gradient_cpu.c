/* Col2ImGradient on the CPU. */
#include "kernels/col2im/unfold.h"

#include <string.h>

ons_status *ons_col2im_gradient_prepare(ons_prepare *p) {
    ons_type columns;
    ONS_TRY(ons_require_float32(p->operands));
    ons_unfold *state;
    ONS_NEW_STATE(state, p);
    return ons_unfold_of_image(p->operands, &p->operands->inputs[0], state, &columns);
}

/* One element of all blocks of a plane. */
static void copy_tap(const ons_unfold *u, int64_t tap, const float *image, float *to) {
    int64_t width = u->blocks[u->dims - 1], step = u->stride[u->dims - 1], rows = width == 0 ? 0 : u->positions / width;
    for (int64_t row = 0; row < rows; ++row, to += width) {
        ons_unfold_run run = ons_unfold_find_run(u, tap, row);
        int64_t first = run.first < run.end ? run.first : width, end = first < run.end ? run.end : width;
        memset(to, 0, (size_t)first * sizeof *to);
        for (int64_t i = first; i < end; ++i) to[i] = image[run.start + i * step];
        memset(to + end, 0, (size_t)(width - end) * sizeof *to);
    }
}

static void col2im_gradient_run(const ons_launch *launch) {
    const ons_unfold *u = launch->state;
    const float *image = launch->inputs[0];
    float *columns = launch->outputs[0];
    int64_t rows = u->batch * u->channels * u->taps;
#pragma omp parallel for schedule(static) if (rows * u->positions > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i)
        copy_tap(u, i % u->taps, image + i / u->taps * u->pixels, columns + i * u->positions);
}

ONS_KERNELS(cpu, col2im_gradient, ONS_KERNEL(ons_col2im_gradient_prepare, col2im_gradient_run))
