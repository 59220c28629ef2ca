/* The gradient of Col2Im: blocks of the cotangent, an image, laid out as columns; zeros where they lie in padding.
 * Inputs: the cotangent, then Col2Im's image and block shapes. */
#include <string.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unfold.h"

static ons_status *col2im_gradient_infer(ons_operands *o) {
    ons_unfold u;
    return ons_unfold_of_image(o, &o->inputs[0], &u, &o->outputs[0]);
}

static void col2im_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_unfold u;
    ons_type columns;
    ons_status_free(ons_unfold_of_image(o, &o->inputs[0], &u, &columns)); /* has passed inference */
    const double *image = inputs[0];
    for (int64_t i = 0, n = ons_elements(&columns); i < n; ++i) {
        int64_t row = i / u.positions, at = ons_unfold_pixel(&u, row % u.taps, i % u.positions);
        ((double *)outputs[0])[i] = at < 0 ? 0 : image[row / u.taps * u.pixels + at];
    }
}

static ons_status *col2im_gradient_prepare(ons_prepare *p) {
    void *memory;
    ons_type columns;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_unfold), &memory));
    return ons_unfold_of_image(p->operands, &p->operands->inputs[0], memory, &columns);
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

static ons_status *col2im_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, col2im_gradient_prepare);
}

static const ons_case col2im_gradient_cases[] = {
    {.name = "overlap", .inputs = {ONS_F32(2, 2, 6, 7), ONS_I64(6, 7), ONS_I64(3, 3)}},
    {.name = "pads",
     .inputs = {ONS_F32(1, 2, 5, 5), ONS_I64(5, 5), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 0, 3, 4, 2), ONS_SET_INTS("strides", 1, 2), ONS_SET_INTS("dilations", 2, 1)}},
    {.name = "one_dim", .inputs = {ONS_F32(2, 3, 9), ONS_I64(9), ONS_I64(4)}, .settings = {ONS_SET_INTS("strides", 2)}},
    {.name = "threads", .inputs = {ONS_F32(2, 8, 20, 20), ONS_I64(20, 20), ONS_I64(3, 3)}},
    {.name = "misfit", .inputs = {ONS_F32(1, 2, 5, 5), ONS_I64(5, 6), ONS_I64(3, 3)}, .error = "is not the image"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 56, 56), ONS_I64(56, 56), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(col2im_gradient, "Col2ImGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_UNFOLD_ATTRIBUTES), ONS_INFER(col2im_gradient_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(col2im_gradient_reference),
                    ONS_CPU_KERNEL(col2im_gradient_prepare, col2im_gradient_run),
                    ONS_CUDA_KERNEL(col2im_gradient_prepare_cuda, ons_cuda_col2im_gradient), col2im_gradient_cases);
