/* Col2Im on the CPU. */
#include "kernels/col2im/unfold.h"

#include <string.h>

ons_status *ons_col2im_prepare(ons_prepare *p) {
    ons_type image;
    ONS_TRY(ons_require_float32(p->operands));
    ons_unfold *state;
    ONS_NEW_STATE(state, p);
    return ons_unfold_of_columns(p->operands, &p->operands->inputs[0], state, &image);
}

static void add_plane(const ons_unfold *u, const float *columns, float *image) {
    int64_t width = u->blocks[u->dims - 1], step = u->stride[u->dims - 1], rows = width == 0 ? 0 : u->positions / width;
    memset(image, 0, (size_t)u->pixels * sizeof *image);
    for (int64_t tap = 0; tap < u->taps; ++tap)
        for (int64_t row = 0; row < rows; ++row) {
            ons_unfold_run run = ons_unfold_find_run(u, tap, row);
            const float *from = columns + tap * u->positions + row * width;
            if (step == 1)
                for (int64_t i = run.first; i < run.end; ++i) image[run.start + i] += from[i];
            else
                for (int64_t i = run.first; i < run.end; ++i) image[run.start + i * step] += from[i];
        }
}

static void col2im_run(const ons_launch *launch) {
    const ons_unfold *u = launch->state;
    const float *columns = launch->inputs[0];
    float *image = launch->outputs[0];
#pragma omp parallel for schedule(static) if (u->batch * u->channels * (u->taps * u->positions + u->pixels) >          \
                                              ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < u->batch * u->channels; ++i)
        add_plane(u, columns + i * u->taps * u->positions, image + i * u->pixels);
}

ONS_KERNELS(cpu, col2im, ONS_KERNEL(ons_col2im_prepare, col2im_run))
