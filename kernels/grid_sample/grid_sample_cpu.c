/* GridSample on the CPU. */
#include "kernels/grid_sample/grid_sample.h"

#include <omp.h>

#include "kernels/grid_sample/grid.h"

static ons_status *grid_sample_prepare(ons_prepare *p) {
    ons_grid grid;
    ons_resolved(ons_grid_of(p->operands, &p->operands->inputs[X], &p->operands->inputs[GRID], &grid));
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

ONS_KERNELS(cpu, grid_sample, ONS_KERNEL(grid_sample_prepare, grid_sample_run))
