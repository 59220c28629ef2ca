#include "kernels/common/cuda_elementwise.cuh"

namespace {

template <class T> struct clipping : ons::with_parameters {
    const T *low, *high; /* NULL: no bound */
    __device__ float operator()(float x) const {
        float least = low == nullptr ? -INFINITY : ons::widen(*low), most = high == nullptr ? INFINITY : ons::widen(*high);
        x = x < least ? least : x;
        return x > most ? most : x;
    }
};

template <class T> void run_clip(const ons_launch *l) {
    clipping<T> f = ons::formula<clipping<T>>(l);
    f.low = (const T *)ons::optional_input(l, 1);
    f.high = (const T *)ons::optional_input(l, 2);
    ons::run_1<T, T>(l, f);
}

} // namespace

extern "C" void ons_cuda_clip(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_clip, launch);
}
