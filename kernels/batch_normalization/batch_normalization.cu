#include "kernels/normalization/cuda_batch.cuh"

namespace {

template <class T, class P> struct batch_normalization {
    static void run(const ons_launch *l, const ons_cuda_batch *s) {
        if (s->training) {
            ons::run_batch_training<T, P>(l, s, {(P *)l->outputs[1], (P *)l->outputs[2], nullptr, nullptr, nullptr});
            return;
        }
        const P *const *in = (const P *const *)l->inputs;
        ons::channel_maps maps = ons::channel_maps_of(l, s);
        ons::each(l, s->channels, ons::finish_inference<P>{*s, maps, in[1], in[2], in[3], in[4]});
        ons::apply_channel_maps<T>(l, s, maps, ons::input_of<T>(l, 0), {}, (T *)l->outputs[0]);
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization(const ons_launch *launch) {
    ons::dispatch_batch<batch_normalization>(launch, (const ons_cuda_batch *)launch->state);
}
