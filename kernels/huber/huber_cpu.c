/* Huber on the CPU. */
#include "kernels/losses/pointwise_loss.h"

static inline float huber_of_float(float d, float delta) {
    float magnitude = ons_absolute(d), square = 0.5f * d * d, line = delta * (magnitude - 0.5f * delta);
    return magnitude <= delta ? square : line;
}

ONS_POINTWISE_LOSS_KERNEL(huber, huber_of_float(x - t, parameter))

ONS_KERNELS(cpu, huber, ONS_KERNEL(ons_pointwise_loss_prepare, huber_run))
