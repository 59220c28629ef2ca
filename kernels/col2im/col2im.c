/* Col2Im: blocks that lie as columns (N, C × taps, blocks), added up where they overlap in an image. */
#include <string.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unfold.h"

static ons_status *col2im_infer(ons_operands *o) {
    ons_unfold u;
    return ons_unfold_of_columns(o, &o->inputs[0], &u, &o->outputs[0]);
}

/* One addition for each element of a block. */
static ons_cost col2im_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void col2im_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    ons_unfold u;
    ons_type image;
    ons_status_free(ons_unfold_of_columns(o, &o->inputs[0], &u, &image)); /* has passed inference */
    bool is_float = ons_dtype_is_float(image.dtype);
    memset(outputs[0], 0, (size_t)ons_elements(&image) * 8);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        int64_t row = i / u.positions, at = ons_unfold_pixel(&u, row % u.taps, i % u.positions);
        if (at < 0) continue;
        at += row / u.taps * u.pixels;
        if (is_float)
            ((double *)outputs[0])[at] += ((const double *)inputs[0])[i];
        else
            ((uint64_t *)outputs[0])[at] += ((const uint64_t *)inputs[0])[i];
    }
}

static ons_status *col2im_prepare(ons_prepare *p) {
    void *memory;
    ons_type image;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_unfold), &memory));
    return ons_unfold_of_columns(p->operands, &p->operands->inputs[0], memory, &image);
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

static ons_status *col2im_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_col2im_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, 1), ons_gradient_input(g, 2)),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

static ons_status *col2im_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, col2im_prepare); }

static const ons_case col2im_cases[] = {
    {.name = "blocks",
     .inputs = {ONS_F32(2, 12, 4), ONS_I64(4, 4), ONS_I64(2, 2)},
     .settings = {ONS_SET_INTS("strides", 2, 2)},
     .flops = 96},
    {.name = "overlap", .inputs = {ONS_F32(1, 18, 20), ONS_I64(6, 7), ONS_I64(3, 3)}, .tolerance = 1e-6, .flops = 360},
    {.name = "pads",
     .inputs = {ONS_F32(1, 18, 24), ONS_I64(5, 5), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 1, 2)},
     .tolerance = 1e-6,
     .flops = 432},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 4, 15), ONS_I64(6, 7), ONS_I64(2, 2)},
     .settings = {ONS_SET_INTS("dilations", 1, 3), ONS_SET_INTS("strides", 2, 1), ONS_SET_INTS("pads", 0, 1, 0, 0)},
     .tolerance = 1e-6,
     .flops = 60},
    {.name = "misfit", .inputs = {ONS_F32(1, 4, 9), ONS_I64(6, 7), ONS_I64(2, 2)}, .error = "is not (N, C"},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 6, 5), ONS_I64(10), ONS_I64(2)},
     .settings = {ONS_SET_INTS("strides", 2)},
     .flops = 60},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 16, 12), ONS_I64(3, 4, 3), ONS_I64(2, 2, 2)},
     .tolerance = 1e-6,
     .flops = 192},
    {.name = "threads",
     .inputs = {ONS_F32(2, 72, 400), ONS_I64(20, 20), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-6,
     .flops = 57600},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 1, 4, 9), ONS_I64(4, 4), ONS_I64(2, 2)}, .flops = 36},
    {.name = "empty", .inputs = {ONS_F32(0, 4, 9), ONS_I64(4, 4), ONS_I64(2, 2)}, .flops = 0},
    {.name = "too_large", .inputs = {ONS_F32(1, 4, 9), ONS_I64(INT64_MAX, 4), ONS_I64(2, 2)}, .error = "an image of"},
    {.name = "large",
     .inputs = {ONS_F32(8, 576, 3136), ONS_I64(56, 56), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-6,
     .flops = 14450688,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(col2im, "Col2Im", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_UNFOLD_ATTRIBUTES), ONS_INFER(col2im_infer), ONS_COST(col2im_cost),
                    ONS_GRADIENT_RULE(col2im_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(col2im_reference),
                    ONS_CPU_KERNEL(col2im_prepare, col2im_run), ONS_CUDA_KERNEL(col2im_prepare_cuda, ons_cuda_col2im),
                    col2im_cases);
