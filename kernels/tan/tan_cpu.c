/* Tan on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/sine.h"

static void tan_float32(const void *in, void *out, int64_t count, const float *parameters) {
    enum { BLOCK = 256 };
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t n = count - begin < BLOCK ? count - begin : BLOCK;
        float sine[BLOCK], cosine[BLOCK];
        ons_sine_span((const float *)in + begin, sine, n, 0);
        ons_sine_span((const float *)in + begin, cosine, n, 1);
        for (int64_t i = 0; i < n; ++i) ((float *)out)[begin + i] = sine[i] / cosine[i];
    }
}

static void tan_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), sizeof(float), tan_float32); }

ONS_KERNELS(cpu, tan, ONS_KERNEL(ons_unary_prepare, tan_run))
