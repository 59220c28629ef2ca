/* GridSample: the tensor (N, C, spatial…) at the places of a grid (N, positions…, coordinates). */
#include <math.h>
#include <omp.h>

#include "kernels/common/checks.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/grid.h"
#include "kernels/common/index.h"

enum { X, GRID };

static ons_status *grid_sample_infer(ons_operands *o) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    if (grid.mode != ONS_GRID_NEAREST && !ons_dtype_is_float(o->inputs[X].dtype))
        return ons_node_error(o, "cannot interpolate %s", ons_dtype_name(o->inputs[X].dtype));
    o->outputs[0] = ons_type_make(o->inputs[X].dtype, grid.result);
    return NULL;
}

/* A multiplication and an addition for every element that is seen. */
static ons_cost grid_sample_cost(const ons_operands *o) {
    ons_grid grid;
    ons_status_free(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid)); /* has passed inference */
    return (ons_cost){2.0 * grid.combinations * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static void sample_plane(const ons_grid *g, const ons_grid_view *view, const void *x, int64_t plane, void *y,
                         int64_t output) {
    if (g->mode == ONS_GRID_NEAREST) { /* without arithmetic, so that every dtype stays as it is */
        uint64_t zero = 0;
        bool inside = view->element[0] >= 0;
        ons_copy_word(y, output, inside ? x : &zero, inside ? plane * g->inputs + view->element[0] : 0);
        return;
    }
    double sum = 0;
    for (int32_t k = 0; k < g->combinations; ++k)
        if (view->element[k] >= 0) sum += view->weight[k] * ((const double *)x)[plane * g->inputs + view->element[k]];
    ((double *)y)[output] = sum;
}

static void grid_sample_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    ons_grid g;
    ons_status_free(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &g)); /* has passed inference */
    for (int64_t i = 0; i < g.batch * g.outputs; ++i) {
        ons_grid_view view;
        ons_grid_look(&g, (const double *)inputs[GRID] + i * g.dims, &view);
        for (int64_t c = 0; c < g.channels; ++c) {
            int64_t plane = i / g.outputs * g.channels + c;
            sample_plane(&g, &view, inputs[X], plane, outputs[0], plane * g.outputs + i % g.outputs);
        }
    }
}

static ons_status *grid_sample_prepare(ons_prepare *p) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(p->operands, &p->operands->inputs[X], &p->operands->inputs[GRID], &grid));
    return ons_grid_prepare(p, &grid);
}

static inline __attribute__((always_inline)) void sample(const ons_grid_block *block, const float *restrict x,
                                                         int64_t count, int combinations, float *restrict y) {
    for (int64_t i = 0; i < count; ++i) {
        float sum = block->weight[0][i] * x[block->element[0][i]];
        for (int k = 1; k < combinations; ++k) sum += block->weight[k][i] * x[block->element[k][i]];
        y[i] = sum;
    }
}

/* Places [first, first + count) of one sample, all channels. */
static void sample_block(const ons_grid *g, int64_t n, int64_t first, int64_t count, const float *x, const float *grid,
                         float *y, ons_grid_block *block) {
    ons_grid_look_at_block(g, grid + (n * g->outputs + first) * g->dims, count, false, block);
    for (int64_t c = 0; c < g->channels; ++c) {
        const float *from = x + (n * g->channels + c) * g->inputs;
        float *to = y + (n * g->channels + c) * g->outputs + first;
        switch (g->combinations) {
        case 1: sample(block, from, count, 1, to); break;
        case 4: sample(block, from, count, 4, to); break;
        default: sample(block, from, count, g->combinations, to); break;
        }
    }
}

static void grid_sample_run(const ons_launch *launch) {
    const ons_grid_state *s = launch->state;
    const ons_grid *g = &s->grid;
    ons_grid_block *blocks = launch->scratch;
    int64_t pieces = (g->outputs + ONS_GRID_BLOCK - 1) / ONS_GRID_BLOCK;
#pragma omp parallel for schedule(static) num_threads(s->threads) if (g->batch * g->channels * g->outputs > 1024)
    for (int64_t i = 0; i < g->batch * pieces; ++i) {
        int64_t first = i % pieces * ONS_GRID_BLOCK, left = g->outputs - first;
        sample_block(g, i / pieces, first, left < ONS_GRID_BLOCK ? left : ONS_GRID_BLOCK, launch->inputs[X],
                     launch->inputs[GRID], launch->outputs[0], &blocks[omp_get_thread_num()]);
    }
}

static ons_status *grid_sample_gradient(ons_gradient *g) {
    ons_value_id results[2];
    ons_build_node_like(g->builder, &ons_op_grid_sample_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, GRID)),
                        g->operands->attributes, 2, g->wanted, results);
    for (uint32_t i = X; i <= GRID; ++i)
        if (g->wanted[i]) g->gradients[i] = results[i];
    return NULL;
}

static ons_status *grid_sample_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    if (o->inputs[GRID].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[GRID].dtype);
    ONS_TRY(ons_prepare_state(p, sizeof(ons_cuda_grid), &memory));
    ons_cuda_grid *s = memory;
    s->size = ons_dtype_size(o->inputs[X].dtype);
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &s->grid));
    bool moves = s->grid.mode == ONS_GRID_NEAREST || o->inputs[X].dtype == ONS_FLOAT32;
    return moves ? NULL : ons_refuse_dtype(o, o->inputs[X].dtype);
}

#define IN_MODE(MODE, PADDING, ALIGN)                                                                                  \
    .settings = {ONS_SET_STRING("mode", MODE), ONS_SET_STRING("padding_mode", PADDING),                                \
                 ONS_SET_INT("align_corners", ALIGN)}

static const ons_case grid_sample_cases[] = {
    {.name = "linear",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 2, 4, 7, 2)},
     .tolerance = 1e-6,
     .flops = 1344},
    {.name = "linear_corners",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 2, 4, 7, 2)},
     IN_MODE("bilinear", "border", 1),
     .tolerance = 1e-6,
     .flops = 1344},
    {.name = "linear_border",
     .inputs = {ONS_F32(1, 2, 5, 6), ONS_F32_IN(-1.4, 1.4, 1, 4, 7, 2)},
     IN_MODE("linear", "border", 0),
     .tolerance = 1e-6,
     .flops = 448},
    {.name = "linear_reflection",
     .inputs = {ONS_F32(1, 2, 5, 6), ONS_F32_IN(-5, 5, 1, 4, 7, 2)},
     IN_MODE("linear", "reflection", 0),
     .tolerance = 1e-6,
     .flops = 448},
    {.name = "reflection_corners",
     .inputs = {ONS_F32(1, 2, 5, 6), ONS_F32_IN(-5, 5, 1, 4, 7, 2)},
     IN_MODE("linear", "reflection", 1),
     .tolerance = 1e-6,
     .flops = 448},
    {.name = "nearest",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 2, 4, 7, 2)},
     IN_MODE("nearest", "zeros", 0),
     .flops = 336},
    {.name = "nearest_reflection",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32_IN(-4, 4, 2, 4, 7, 2)},
     IN_MODE("nearest", "reflection", 1),
     .flops = 336},
    {.name = "cubic",
     .inputs = {ONS_F32(1, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 1, 4, 7, 2)},
     IN_MODE("cubic", "zeros", 0),
     .tolerance = 1e-6,
     .flops = 2688},
    {.name = "cubic_border",
     .inputs = {ONS_F32(1, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 1, 4, 7, 2)},
     IN_MODE("bicubic", "border", 1),
     .tolerance = 1e-6,
     .flops = 2688},
    {.name = "cubic_reflection",
     .inputs = {ONS_F32(1, 3, 5, 6), ONS_F32_IN(-4, 4, 1, 4, 7, 2)},
     IN_MODE("cubic", "reflection", 0),
     .tolerance = 1e-6,
     .flops = 2688},
    {.name = "volume",
     .inputs = {ONS_F32(1, 2, 3, 4, 5), ONS_F32_IN(-1.2, 1.2, 1, 2, 3, 4, 3)},
     .tolerance = 1e-6,
     .flops = 768},
    {.name = "volume_nearest",
     .inputs = {ONS_F32(1, 2, 3, 4, 5), ONS_F32_IN(-1.2, 1.2, 1, 2, 3, 4, 3)},
     IN_MODE("nearest", "border", 0),
     .flops = 96},
    {.name = "volume_cubic",
     .inputs = {ONS_F32(1, 2, 5, 4, 5), ONS_F32_IN(-1.2, 1.2, 1, 2, 3, 2, 3)},
     IN_MODE("cubic", "border", 0),
     .tolerance = 2e-6,
     .flops = 3072},
    {.name = "threads",
     .inputs = {ONS_F32(3, 8, 20, 21), ONS_F32_IN(-1.1, 1.1, 3, 17, 23, 2)},
     .tolerance = 1e-6,
     .flops = 75072},
    {.name = "nowhere",
     .inputs = {ONS_F32(1, 1, 4, 4),
                {.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(1, 1, 4, 2),
                 .value_count = 8,
                 .values = {NAN, 0, INFINITY, 0, -1e30, 0, 3e38, 1e30}}},
     .flops = 32,
     .no_gradient = true},
    {.name = "single_pixel",
     .inputs = {ONS_F32(1, 1, 1, 1), ONS_F32_IN(-3, 3, 1, 2, 2, 2)},
     IN_MODE("linear", "reflection", 1),
     .tolerance = 1e-6,
     .flops = 32},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 1, 2, 3, 3), ONS_F32_IN(-1.2, 1.2, 1, 2, 2, 2)},
     IN_MODE("nearest", "border", 0),
     .flops = 16,
     .no_gradient = true},
    {.name = "no_places", .inputs = {ONS_F32(1, 2, 3, 3), ONS_F32(1, 0, 4, 2)}, .flops = 0},
    {.name = "empty", .inputs = {ONS_F32(1, 2, 0, 3), ONS_F32(1, 1, 4, 2)}, .error = "nothing to sample"},
    {.name = "misfit", .inputs = {ONS_F32(1, 2, 3, 3), ONS_F32(2, 1, 4, 2)}, .error = "is no grid"},
    {.name = "flat", .inputs = {ONS_F32(1, 2), ONS_F32(1, 2)}, .error = "spatial dimensions"},
    {.name = "unknown",
     .inputs = {ONS_F32(1, 2, 3, 3), ONS_F32(1, 1, 4, 2)},
     IN_MODE("linear", "mirror", 0),
     .error = "unknown padding_mode"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 56, 56), ONS_F32(8, 56, 56, 2)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(grid_sample, "GridSample", ONS_ONNX(16, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_GRID_ATTRIBUTES), ONS_INFER(grid_sample_infer), ONS_COST(grid_sample_cost),
                    ONS_GRADIENT_RULE(grid_sample_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(GRID), 0), ONS_SAMPLING_OPERATOR(ONS_INPUT_BIT(GRID)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(grid_sample_reference),
                    ONS_CPU_KERNEL(grid_sample_prepare, grid_sample_run),
                    ONS_CUDA_KERNEL(grid_sample_prepare_cuda, ons_cuda_grid_sample), grid_sample_cases);
