/* GlobalLpPoolGradient on the CPU. */
#include "kernels/global_lp_pool/global_lp_pool_gradient.h"

#include "kernels/common/layout/channels.h"
#include "kernels/global_lp_pool/global_lp_pool.h"
#include "kernels/pooling/lp.h"

ons_status *ons_global_lp_pool_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_global_lp_pool *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_channels_of(&p->operands->inputs[1]);
    return ons_lp_order(p->operands, P, ONS_LP_MAX, &s->p);
}

static void global_lp_pool_gradient_run(const ons_launch *launch) {
    const ons_global_lp_pool *s = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0];
    int64_t planes = s->size.batch * s->size.channels, length = s->size.positions;
    int p = s->p;
#pragma omp parallel for schedule(static) if (planes * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        float share = dy[i] * ons_lp_share(y[i], p);
        const float *from = x + i * length;
        float *to = dx + i * length;
        if (p == 2)
            for (int64_t k = 0; k < length; ++k) to[k] = share * from[k];
        else
            for (int64_t k = 0; k < length; ++k) to[k] = share * ons_lp_slope(from[k], p);
    }
}

ONS_KERNELS(cpu, global_lp_pool_gradient, ONS_KERNEL(ons_global_lp_pool_gradient_prepare, global_lp_pool_gradient_run))
