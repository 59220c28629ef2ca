#include "kernels/lrn/cuda_local_response.cuh"

namespace {

template <class T> struct response {
    ons_local_response l;
    const T *x;
    T *y;
    __device__ void operator()(int64_t i) const {
        float s = ons::local_sum(l, x, i, i / l.size.positions % l.size.channels);
        y[i] = ons::narrow<T>(ons::widen(x[i]) * powf(s, -l.beta));
    }
};

template <class T> void run_lrn(const ons_launch *l, const ons_local_response *s) {
    ons::each(l, s->size.batch * s->size.channels * s->size.positions,
              response<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_lrn(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_local_response, run_lrn, launch);
}
