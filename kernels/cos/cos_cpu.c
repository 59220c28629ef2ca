/* Cos on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/sine.h"

static void cos_float32(const void *in, void *out, int64_t count, const float *parameters) {
    ons_sine_span(in, out, count, 1);
}

static void cos_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), sizeof(float), cos_float32); }

ONS_KERNELS(cpu, cos, ONS_KERNEL(ons_unary_prepare, cos_run))
