/* CumProd on the CPU. */
#include "kernels/cumulative/cumulative.h"

static void cum_prod_run(const ons_launch *launch) {
    const ons_cumulative *s = launch->state;
    const float *in = launch->inputs[0];
    float *out = launch->outputs[0];
    int64_t blocks = (s->inner + ONS_CUMULATIVE_COLUMNS - 1) / ONS_CUMULATIVE_COLUMNS;
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < s->outer * blocks; ++task) {
        int64_t first = task % blocks * ONS_CUMULATIVE_COLUMNS, width = s->inner - first;
        double products[ONS_CUMULATIVE_COLUMNS];
        width = width < ONS_CUMULATIVE_COLUMNS ? width : ONS_CUMULATIVE_COLUMNS;
        for (int64_t k = 0; k < width; ++k) products[k] = 1;
        for (int64_t i = 0; i < s->length; ++i) {
            int64_t at = ons_cumulative_place(s, task / blocks, first, i);
            for (int64_t k = 0; k < width; ++k) {
                double after = products[k] * in[at + k];
                out[at + k] = (float)(s->exclusive ? products[k] : after);
                products[k] = after;
            }
        }
    }
}

ONS_KERNELS(cpu, cum_prod, ONS_KERNEL(ons_cumulative_prepare, cum_prod_run))
