#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct clip_formula : ons::with_parameters {
    template <class L, class H> __device__ float operator()(float x, L low, H high) const {
        float least = ons::given(low, -INFINITY), most = ons::given(high, INFINITY);
        x = x < least ? least : x;
        return x > most ? most : x;
    }
};

} // namespace

ONS_CUDA_MIXED(clip)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

/* The bounds are single numbers in the device's memory; NULL: no bound. */
template <class T> struct clipping : clip_formula {
    const T *low, *high;
    __device__ float operator()(float x) const {
        return clip_formula::operator()(x, low == nullptr ? -INFINITY : ons::widen(*low),
                                        high == nullptr ? INFINITY : ons::widen(*high));
    }
};

template <class T> void run_clip(const ons_launch *l) {
    clipping<T> f = ons::formula<clipping<T>>(l);
    f.low = (const T *)ons::optional_input(l, 1);
    f.high = (const T *)ons::optional_input(l, 2);
    ons::run_1<T, T>(l, f);
}

} // namespace

extern "C" void ons_cuda_run_clip(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_clip, launch);
}

#endif
