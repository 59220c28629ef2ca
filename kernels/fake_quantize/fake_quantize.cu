#include "kernels/quantization/cuda_fake_quantization.cuh"
extern "C" {
#include "kernels/fake_quantize/fake_quantize.h"
}

namespace {

/* y may be x. */
template <class T> struct fake_quantized {
    ons_fake fake;
    const T *x, *from, *to;
    ons::zero_points from_zeros, to_zeros;
    T *y;
    __device__ void operator()(int64_t i) const {
        int64_t k = ons_scale_of(&fake.scales, i);
        float q = ons_quantize(ons::widen(x[i]), ons::widen(from[k]), from_zeros[k], fake.low, fake.high);
        y[i] = ons::narrow<T>((q - to_zeros[k]) * ons::widen(to[k]));
    }
};

template <class T> void run_fake_quantize(const ons_launch *l, const ons_fake_quantize *s) {
    const void *const *in = l->inputs;
    ons_dtype zero = s->fake.zero_dtype;
    ons::each(l, s->fake.scales.elements,
              fake_quantized<T>{s->fake,
                                (const T *)in[0],
                                (const T *)in[1],
                                (const T *)in[2],
                                {s->has_from ? in[3] : nullptr, zero},
                                {s->has_to ? in[4] : nullptr, zero},
                                (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_fake_quantize(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_fake_quantize, run_fake_quantize, launch);
}
