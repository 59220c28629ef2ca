#include "kernels/trigonometry/sine.h"

#include "kernels/common/math/vector_math.h"

enum { BLOCK = 256 };

void ons_sine_span(const float *in, float *out, int64_t count, int quarter_turns) {
    float x[BLOCK];
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t n = count - begin < BLOCK ? count - begin : BLOCK;
        int far = 0;
#pragma omp simd reduction(| : far)
        for (int64_t i = 0; i < n; ++i) {
            x[i] = in[begin + i];
            far |= ons_absolute(x[i]) > ONS_SINE_RANGE;
            out[begin + i] = ons_sine(x[i], quarter_turns);
        }
        for (int64_t i = 0; far && i < n; ++i)
            if (ons_absolute(x[i]) > ONS_SINE_RANGE) out[begin + i] = quarter_turns == 0 ? sinf(x[i]) : cosf(x[i]);
    }
}
