#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/dequantize_linear/dequantize_linear.h"
}

namespace {

template <class Integer> struct dequantized {
    ons_scales s;
    const Integer *q, *zeros;
    const float *scales;
    float *y;
    __device__ void operator()(int64_t i) const {
        int64_t k = ons_scale_of(&s, i), zero = zeros == nullptr ? 0 : (int64_t)zeros[k];
        y[i] = (float)((int64_t)q[i] - zero) * scales[k];
    }
};

template <class Integer> void run_dequantize(const ons_launch *l, const ons_dequantize_linear *s) {
    const Integer *zeros = s->has_zero ? (const Integer *)l->inputs[2] : nullptr;
    ons::each(l, s->scales.elements,
              dequantized<Integer>{s->scales, (const Integer *)l->inputs[0], zeros, (const float *)l->inputs[1],
                                   (float *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_dequantize_linear(const ons_launch *launch) {
    const ons_dequantize_linear *s = (const ons_dequantize_linear *)launch->state;
    switch (s->dtype) {
    case ONS_INT8: run_dequantize<int8_t>(launch, s); break;
    case ONS_INT16: run_dequantize<int16_t>(launch, s); break;
    case ONS_UINT16: run_dequantize<uint16_t>(launch, s); break;
    case ONS_UINT8: run_dequantize<uint8_t>(launch, s); break;
    default: run_dequantize<int32_t>(launch, s); break;
    }
}
