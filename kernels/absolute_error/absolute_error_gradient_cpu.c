/* AbsoluteErrorGradient on the CPU. */
#include "kernels/losses/pointwise_loss.h"

/* NaN stays NaN. */
static inline float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x * 0.0f; }

ONS_POINTWISE_LOSS_GRADIENT_KERNEL(absolute_error_gradient, (sign_of(x - t)))

ONS_KERNELS(cpu, absolute_error_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, absolute_error_gradient_run))
