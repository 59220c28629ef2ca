/* GlobalLpPool on the CPU. */
#include "kernels/global_lp_pool/global_lp_pool_node.h"

#include "kernels/common/layout/channels.h"
#include "kernels/pooling/lp.h"

ons_status *ons_global_lp_pool_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_global_lp_pool *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_channels_of(&p->operands->inputs[0]);
    return ons_lp_order(p->operands, P, ONS_LP_MAX, &s->p);
}

static void global_lp_pool_run(const ons_launch *launch) {
    const ons_global_lp_pool *s = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    int64_t planes = s->size.batch * s->size.channels, length = s->size.positions;
    int p = s->p;
#pragma omp parallel for schedule(static) if (planes * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < length; ++k) sum += ons_lp_term(x[i * length + k], p);
        y[i] = ons_lp_root(sum, p);
    }
}

ONS_KERNELS(cpu, global_lp_pool, ONS_KERNEL(ons_global_lp_pool_prepare, global_lp_pool_run))
