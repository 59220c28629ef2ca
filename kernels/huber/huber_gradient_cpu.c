/* HuberGradient on the CPU. */
#include "kernels/losses/pointwise_loss.h"

/* NaN stays NaN. */
static inline float limited(float d, float delta) {
    float above = d < -delta ? -delta : d;
    return above > delta ? delta : above;
}

ONS_POINTWISE_LOSS_GRADIENT_KERNEL(huber_gradient, (limited(x - t, parameter)))

ONS_KERNELS(cpu, huber_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, huber_gradient_run))
