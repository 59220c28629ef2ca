/* What the CPU runs of argminmax.h. */
#include "kernels/argminmax/argminmax_cpu.h"

#include <omp.h>

#include "kernels/common/rows/rows.h"

ons_status *ons_argminmax_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_argminmax *state;
    ONS_NEW_STATE(state, p);
    *state = ons_argminmax_make_state(p->operands);
    return NULL;
}

void ons_argminmax_run(const ons_launch *launch, ons_argminmax_some *some) {
    const ons_argminmax *s = launch->state;
    int64_t results = s->outer * s->inner;
#pragma omp parallel if (results * s->length > ONS_PARALLEL_GRAIN)
    {
        int threads = omp_get_num_threads(), thread = omp_get_thread_num();
        some(launch, ons_part_begin(results, threads, thread), ons_part_begin(results, threads, thread + 1));
    }
}
