/* HardSwish on the CPU. */
#include "kernels/common/elementwise/unary.h"

static inline float clipped(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

ONS_UNARY_FLOAT_KERNEL(hard_swish, x *clipped(x *(1.0f / 6) + 0.5f))

ONS_KERNELS(cpu, hard_swish, ONS_KERNEL(ons_unary_prepare, hard_swish_run))
