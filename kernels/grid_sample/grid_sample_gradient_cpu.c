/* GridSampleGradient on the CPU. */
#include "kernels/grid_sample/grid_sample_gradient.h"

#include <omp.h>
#include <string.h>

#include "kernels/grid_sample/grid.h"

ons_status *ons_grid_sample_gradient_prepare(ons_prepare *p) {
    ons_grid grid;
    ons_resolved(ons_grid_of(p->operands, &p->operands->inputs[X], &p->operands->inputs[GRID], &grid));
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

ONS_KERNELS(cpu, grid_sample_gradient, ONS_KERNEL(ons_grid_sample_gradient_prepare, grid_sample_gradient_run))
