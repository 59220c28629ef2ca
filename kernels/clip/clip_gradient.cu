#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct clip_gradient_formula : ons::with_parameters {
    template <class L, class H> __device__ float operator()(float dy, float x, L low, H high) const {
        return x > ons::given(low, -INFINITY) && x < ons::given(high, INFINITY) ? dy : 0.0f;
    }
};

} // namespace

ONS_CUDA_MIXED(clip_gradient)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

/* The bounds are single numbers in the device's memory; NULL: no bound. */
template <class T> struct clip_slope : clip_gradient_formula {
    const T *low, *high;
    __device__ float operator()(float dy, float x) const {
        return clip_gradient_formula::operator()(dy, x, low == nullptr ? -INFINITY : ons::widen(*low),
                                                 high == nullptr ? INFINITY : ons::widen(*high));
    }
};

template <class T> void run_clip_gradient(const ons_launch *l) {
    clip_slope<T> f = ons::formula<clip_slope<T>>(l);
    f.low = (const T *)ons::optional_input(l, 2);
    f.high = (const T *)ons::optional_input(l, 3);
    ons::run_2<T, T, T>(l, f);
}

} // namespace

extern "C" void ons_cuda_run_clip_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_clip_gradient, launch);
}

#endif
