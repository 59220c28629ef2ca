/* Erfc on the CPU. */
#include "kernels/common/elementwise/simd_formula.h"
#include "kernels/common/elementwise/unary.h"

/* 2·Φ(-x·√2): small where x is large, which a difference from 1 is not. */
static inline ons_simd_float complement(ons_simd_float x) {
    ons_simd_float density;
    return 2 * ons_simd_normal(x * -0x1.6a09e6p0f, &density);
}

static void erfc_span(const void *in, void *out, int64_t count, const float *parameters) {
    ons_simd_loop(NULL, in, out, count, complement);
}

static void erfc_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), sizeof(float), erfc_span); }

ONS_KERNELS(cpu, erfc, ONS_KERNEL(ons_unary_prepare, erfc_run))
