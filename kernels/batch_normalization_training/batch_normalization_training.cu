#include "kernels/normalization/cuda_batch.cuh"

namespace {

template <class T, class P> struct training {
    static void run(const ons_launch *l, const ons_cuda_batch *s) {
        P *const *out = (P *const *)l->outputs;
        ons::run_batch_training<T, P>(l, s, {out[1], out[2], out[3], out[4], s->sloped ? out[5] : nullptr});
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization_training(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    ons::dispatch_batch<training>(launch, s);
}
