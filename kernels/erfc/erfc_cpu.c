/* Erfc on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

/* 2·Φ(-x·√2): small where x is large, which a difference from 1 is not. */
static inline float complement(float x) {
    float density;
    return 2 * ons_normal(x * -0x1.6a09e6p0f, &density);
}

ONS_UNARY_FLOAT_KERNEL(erfc, complement(x))

ONS_KERNELS(cpu, erfc, ONS_KERNEL(ons_unary_prepare, erfc_run))
