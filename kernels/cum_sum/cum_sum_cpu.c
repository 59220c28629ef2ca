/* CumSum on the CPU. */
#include "kernels/cumulative/cumulative.h"

/* Sums in double: a long running sum would lose its digits. Columns of one outer entry run side by side in blocks. */
static void cum_sum_run(const ons_launch *launch) {
    const ons_cumulative *s = launch->state;
    const float *in = launch->inputs[0];
    float *out = launch->outputs[0];
    int64_t blocks = (s->inner + ONS_CUMULATIVE_COLUMNS - 1) / ONS_CUMULATIVE_COLUMNS;
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < s->outer * blocks; ++task) {
        int64_t first = task % blocks * ONS_CUMULATIVE_COLUMNS,
                width = s->inner - first < ONS_CUMULATIVE_COLUMNS ? s->inner - first : ONS_CUMULATIVE_COLUMNS;
        double sums[ONS_CUMULATIVE_COLUMNS] = {0};
        for (int64_t i = 0; i < s->length; ++i) {
            int64_t at = ons_cumulative_place(s, task / blocks, first, i);
            for (int64_t k = 0; k < width; ++k) {
                double after = sums[k] + in[at + k];
                out[at + k] = (float)(s->exclusive ? sums[k] : after);
                sums[k] = after;
            }
        }
    }
}

ONS_KERNELS(cpu, cum_sum, ONS_KERNEL(ons_cumulative_prepare, cum_sum_run))
