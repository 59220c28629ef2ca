#include "kernels/common/cuda_batch.cuh"

namespace {

template <class T> void run_batch_normalization(const ons_launch *l, const ons_cuda_batch *s) {
    if (s->training) {
        ons::run_batch_training<T>(l, s, {(T *)l->outputs[1], (T *)l->outputs[2], nullptr, nullptr});
        return;
    }
    const T *const *in = (const T *const *)l->inputs;
    ons::channel_maps maps = ons::channel_maps_of(l, s);
    ons::each(l, s->channels, ons::finish_inference<T>{*s, maps, in[1], in[2], in[3], in[4]});
    ons::apply_channel_maps<T>(l, s, maps, in[0], nullptr, (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_batch_normalization(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_batch_normalization, launch, s);
}
