/* Accumulate on the CPU. */
#include "kernels/common/operator/kernel.h"

static ons_status *accumulate_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_require_float32_of(p->operands, &p->operands->inputs[1]));
    int64_t *state;
    ONS_NEW_STATE(state, p);
    *state = ons_elements(&p->operands->inputs[0]);
    return NULL;
}

static void accumulate_run(const ons_launch *launch) {
    int64_t n = *(const int64_t *)launch->state;
    const float *sum = launch->inputs[0], *summand = launch->inputs[1];
    float *result = launch->outputs[0];
    if (launch->step->micro_batch == launch->step->first_micro_batch) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) result[i] = summand[i];
        return;
    }
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) result[i] = sum[i] + summand[i];
}

ONS_KERNELS(cpu, accumulate, ONS_KERNEL(accumulate_prepare, accumulate_run))
