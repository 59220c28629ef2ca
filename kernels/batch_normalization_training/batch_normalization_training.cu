#include "kernels/common/cuda_batch.cuh"

namespace {

template <class T> void run_training(const ons_launch *l, const ons_cuda_batch *s) {
    T *const *out = (T *const *)l->outputs;
    ons::run_batch_training<T>(l, s, {out[1], out[2], out[3], out[4]});
}

} // namespace

extern "C" void ons_cuda_batch_normalization_training(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_training, launch, s);
}
