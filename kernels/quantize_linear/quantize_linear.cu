#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/quantize_linear/quantize_linear.h"
}

namespace {

template <class Byte> struct quantized {
    ons_quantize_linear s;
    const float *x, *scales;
    const Byte *zeros;
    Byte *q;
    __device__ void operator()(int64_t i) const {
        int64_t k = ons_scale_of(&s.scales, i);
        float value = ons_quantize(x[i], scales[k], zeros == nullptr ? 0.0f : (float)zeros[k], s.low, s.high);
        q[i] = value != value ? Byte(0) : (Byte)value;
    }
};

template <class Byte> void run_quantize(const ons_launch *l, const ons_quantize_linear *s) {
    const Byte *zeros = s->has_zero ? (const Byte *)l->inputs[2] : nullptr;
    ons::each(
        l, s->scales.elements,
        quantized<Byte>{*s, (const float *)l->inputs[0], (const float *)l->inputs[1], zeros, (Byte *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_quantize_linear(const ons_launch *launch) {
    const ons_quantize_linear *s = (const ons_quantize_linear *)launch->state;
    if (s->is_signed)
        run_quantize<int8_t>(launch, s);
    else
        run_quantize<uint8_t>(launch, s);
}
