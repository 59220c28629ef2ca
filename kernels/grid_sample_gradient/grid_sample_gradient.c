/* The gradients of GridSample's tensor and grid. Inputs: cotangent, tensor, grid. */
#include <omp.h>
#include <string.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/grid.h"

enum { COTANGENT, X, GRID };
enum { X_GRADIENT, GRID_GRADIENT };

static ons_status *grid_sample_gradient_infer(ons_operands *o) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    if (!ons_shape_equal(&grid.result, &o->inputs[COTANGENT].shape) || !ons_dtype_is_float(o->inputs[X].dtype) ||
        o->inputs[COTANGENT].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the cotangent does not have the type of the result");
    o->outputs[X_GRADIENT] = o->inputs[X];
    o->outputs[GRID_GRADIENT] = o->inputs[GRID];
    return NULL;
}

/* A multiplication and an addition for every element that is seen, for each of the two. */
static ons_cost grid_sample_gradient_cost(const ons_operands *o) {
    ons_grid grid;
    ons_status_free(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid)); /* has passed inference */
    return (ons_cost){4.0 * grid.combinations * (double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

static void grid_sample_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_grid g;
    ons_status_free(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &g)); /* has passed inference */
    const double *dy = inputs[COTANGENT], *x = inputs[X], *grid = inputs[GRID];
    double *dx = outputs[X_GRADIENT], *dgrid = outputs[GRID_GRADIENT];
    if (dx != NULL) memset(dx, 0, (size_t)ons_elements(&o->inputs[X]) * sizeof *dx);
    if (dgrid != NULL) memset(dgrid, 0, (size_t)ons_elements(&o->inputs[GRID]) * sizeof *dgrid);
    for (int64_t i = 0; i < g.batch * g.outputs; ++i) {
        ons_grid_view view;
        ons_grid_look(&g, grid + i * g.dims, &view);
        for (int64_t c = 0; c < g.channels; ++c)
            for (int32_t k = 0; k < g.combinations; ++k) {
                int64_t plane = i / g.outputs * g.channels + c, at = plane * g.inputs + view.element[k];
                double cotangent = dy[plane * g.outputs + i % g.outputs];
                if (view.element[k] < 0) continue;
                if (dx != NULL) dx[at] += view.weight[k] * cotangent;
                for (int32_t j = 0; dgrid != NULL && j < g.dims; ++j)
                    dgrid[i * g.dims + j] += view.slope[j][k] * x[at] * cotangent;
            }
    }
}

static ons_status *grid_sample_gradient_prepare(ons_prepare *p) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(p->operands, &p->operands->inputs[X], &p->operands->inputs[GRID], &grid));
    return ons_grid_prepare(p, &grid);
}

static int64_t block_at(const ons_grid *g, int64_t first) {
    return g->outputs - first < ONS_GRID_BLOCK ? g->outputs - first : ONS_GRID_BLOCK;
}

/* Channels [begin, end) of one sample: place after place, so that the order of the sums is fixed. */
static void scatter(const ons_grid *g, int64_t n, int64_t begin, int64_t end, const float *dy, const float *grid,
                    float *dx, ons_grid_block *block) {
    int64_t plane = n * g->channels;
    memset(dx + (plane + begin) * g->inputs, 0, (size_t)((end - begin) * g->inputs) * sizeof *dx);
    for (int64_t first = 0; first < g->outputs; first += ONS_GRID_BLOCK) {
        int64_t count = block_at(g, first);
        ons_grid_look_at_block(g, grid + (n * g->outputs + first) * g->dims, count, false, block);
        for (int64_t c = begin; c < end; ++c) {
            const float *from = dy + (plane + c) * g->outputs + first;
            float *to = dx + (plane + c) * g->inputs;
            for (int64_t i = 0; i < count; ++i)
                for (int32_t k = 0; k < g->combinations; ++k) to[block->element[k][i]] += block->weight[k][i] * from[i];
        }
    }
}

/* The grid's gradient at a block of places. */
static void gather(const ons_grid *g, int64_t n, int64_t first, const float *dy, const float *x, const float *grid,
                   float *dgrid, ons_grid_block *block) {
    int64_t count = block_at(g, first), at = n * g->outputs + first;
    ons_grid_look_at_block(g, grid + at * g->dims, count, true, block);
    for (int32_t k = 0; k < g->combinations; ++k) {
        float *restrict sum = block->sum[k];
        const int32_t *restrict element = block->element[k];
        memset(sum, 0, (size_t)count * sizeof *sum);
        for (int64_t c = 0; c < g->channels; ++c) {
            const float *from = x + (n * g->channels + c) * g->inputs;
            const float *cotangent = dy + (n * g->channels + c) * g->outputs + first;
            for (int64_t i = 0; i < count; ++i) sum[i] += cotangent[i] * from[element[i]];
        }
    }
    for (int64_t i = 0; i < count; ++i)
        for (int32_t j = 0; j < g->dims; ++j) {
            float total = 0;
            for (int32_t k = 0; k < g->combinations; ++k) total += block->slope[j][k][i] * block->sum[k][i];
            dgrid[(at + i) * g->dims + j] = total;
        }
}

static void grid_sample_gradient_run(const ons_launch *launch) {
    const ons_grid_state *s = launch->state;
    const ons_grid *g = &s->grid;
    ons_grid_block *blocks = launch->scratch;
    const float *dy = launch->inputs[COTANGENT], *x = launch->inputs[X], *grid = launch->inputs[GRID];
    float *dx = launch->outputs[X_GRADIENT], *dgrid = launch->outputs[GRID_GRADIENT];
    bool parallel = g->batch * g->channels * g->outputs > 1024;
    /* Each group of channels looks at all places anew, so there are no more groups than threads need. */
    int64_t groups = g->batch >= s->threads || g->batch == 0 ? 1 : (s->threads + g->batch - 1) / g->batch;
    groups = groups < g->channels ? groups : g->channels;
    if (dx != NULL) {
#pragma omp parallel for schedule(static) num_threads(s->threads) if (parallel)
        for (int64_t i = 0; i < g->batch * groups; ++i) {
            int64_t group = i % groups;
            scatter(g, i / groups, g->channels * group / groups, g->channels * (group + 1) / groups, dy, grid, dx,
                    &blocks[omp_get_thread_num()]);
        }
    }
    if (dgrid == NULL) return;
    int64_t pieces = (g->outputs + ONS_GRID_BLOCK - 1) / ONS_GRID_BLOCK;
#pragma omp parallel for schedule(static) num_threads(s->threads) if (parallel)
    for (int64_t i = 0; i < g->batch * pieces; ++i)
        gather(g, i / pieces, i % pieces * ONS_GRID_BLOCK, dy, x, grid, dgrid, &blocks[omp_get_thread_num()]);
}

#define IN_MODE(MODE, PADDING, ALIGN)                                                                                  \
    .settings = {ONS_SET_STRING("mode", MODE), ONS_SET_STRING("padding_mode", PADDING),                                \
                 ONS_SET_INT("align_corners", ALIGN)}

static const ons_case grid_sample_gradient_cases[] = {
    {.name = "linear",
     .inputs = {ONS_F32(2, 3, 4, 7), ONS_F32(2, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 2, 4, 7, 2)},
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 2688},
    {.name = "tensor_alone",
     .inputs = {ONS_F32(1, 3, 4, 7), ONS_F32(1, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 1, 4, 7, 2)},
     IN_MODE("nearest", "border", 1),
     .tolerance = 2e-6,
     .flops = 336},
    {.name = "cubic",
     .inputs = {ONS_F32(1, 3, 4, 7), ONS_F32(1, 3, 5, 6), ONS_F32_IN(-3, 3, 1, 4, 7, 2)},
     IN_MODE("cubic", "reflection", 0),
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 5376},
    {.name = "volume",
     .inputs = {ONS_F32(1, 2, 2, 3, 4), ONS_F32(1, 2, 3, 4, 5), ONS_F32_IN(-1.2, 1.2, 1, 2, 3, 4, 3)},
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 1536},
    {.name = "threads",
     .inputs = {ONS_F32(1, 9, 17, 23), ONS_F32(1, 9, 20, 21), ONS_F32_IN(-1.1, 1.1, 1, 17, 23, 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 56304},
    {.name = "misfit",
     .inputs = {ONS_F32(1, 2, 3, 3), ONS_F32(1, 2, 3, 3), ONS_F32(1, 1, 4, 2)},
     .error = "type of the result"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 56, 56), ONS_F32(8, 64, 56, 56), ONS_F32(8, 56, 56, 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 25690112,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(grid_sample_gradient, "GridSampleGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 2),
                    ONS_ATTRIBUTES(ONS_GRID_ATTRIBUTES), ONS_INFER(grid_sample_gradient_infer),
                    ONS_COST(grid_sample_gradient_cost), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(grid_sample_gradient_reference),
                    ONS_CPU_KERNEL(grid_sample_gradient_prepare, grid_sample_gradient_run),
                    ONS_CUDA_KERNEL(grid_sample_gradient_prepare, ons_cuda_grid_sample_gradient),
                    grid_sample_gradient_cases);
