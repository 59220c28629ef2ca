/* CumProdGradient on the CPU. */
#include "kernels/cum_prod/cum_prod_gradient.h"

#include "kernels/cumulative/cumulative.h"

/* P into dx on the way there, T on the way back. */
static void work_block(const ons_cumulative *s, int64_t outer, int64_t first, int64_t width, const float *x,
                       const float *dy, float *dx) {
    double products[ONS_CUMULATIVE_COLUMNS], tails[ONS_CUMULATIVE_COLUMNS] = {0};
    for (int64_t k = 0; k < width; ++k) products[k] = 1;
    for (int64_t i = 0; i < s->length; ++i) {
        int64_t at = ons_cumulative_place(s, outer, first, i);
        for (int64_t k = 0; k < width; ++k) {
            dx[at + k] = (float)products[k];
            products[k] *= x[at + k];
        }
    }
    for (int64_t i = s->length; i-- > 0;) {
        int64_t at = ons_cumulative_place(s, outer, first, i);
        for (int64_t k = 0; k < width; ++k) {
            double tail = s->exclusive ? tails[k] : tails[k] + dy[at + k];
            dx[at + k] = (float)(dx[at + k] * tail);
            tails[k] = x[at + k] * tail + (s->exclusive ? dy[at + k] : 0);
        }
    }
}

static void cum_prod_gradient_run(const ons_launch *launch) {
    const ons_cumulative *s = launch->state;
    int64_t blocks = (s->inner + ONS_CUMULATIVE_COLUMNS - 1) / ONS_CUMULATIVE_COLUMNS;
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < s->outer * blocks; ++task) {
        int64_t first = task % blocks * ONS_CUMULATIVE_COLUMNS, width = s->inner - first;
        work_block(s, task / blocks, first, width < ONS_CUMULATIVE_COLUMNS ? width : ONS_CUMULATIVE_COLUMNS,
                   launch->inputs[X], launch->inputs[COTANGENT], launch->outputs[0]);
    }
}

ONS_KERNELS(cpu, cum_prod_gradient, ONS_KERNEL(ons_cumulative_prepare, cum_prod_gradient_run))
