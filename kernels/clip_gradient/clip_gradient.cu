#include "kernels/common/cuda_elementwise.cuh"

namespace {

template <class T> struct clip_slope : ons::with_parameters {
    const T *low, *high; /* NULL: no bound */
    __device__ float operator()(float dy, float x) const {
        float least = low == nullptr ? -INFINITY : ons::widen(*low), most = high == nullptr ? INFINITY : ons::widen(*high);
        return x >= least && x <= most ? dy : 0.0f;
    }
};

template <class T> void run_clip_gradient(const ons_launch *l) {
    clip_slope<T> f = ons::formula<clip_slope<T>>(l);
    f.low = (const T *)ons::optional_input(l, 2);
    f.high = (const T *)ons::optional_input(l, 3);
    ons::run_2<T, T, T>(l, f);
}

} // namespace

extern "C" void ons_cuda_clip_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_clip_gradient, launch);
}
