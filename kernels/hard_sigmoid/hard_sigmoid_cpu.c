/* HardSigmoid on the CPU. */
#include "kernels/common/elementwise/unary.h"

/* NaN stays. */
static inline float clipped(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

ONS_UNARY_FLOAT_KERNEL(hard_sigmoid, clipped(parameters[0] * x + parameters[1]))

ONS_KERNELS(cpu, hard_sigmoid, ONS_KERNEL(ons_unary_prepare, hard_sigmoid_run))
