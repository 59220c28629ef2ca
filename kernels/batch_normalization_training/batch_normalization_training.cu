#include "kernels/common/cuda_batch.cuh"

namespace {

/* The running statistics from what cuDNN made: see finish_training of cuda_batch.cuh. */
struct renew_statistics {
    ons_cuda_batch s;
    const float *saved_mean, *saved_inverse, *mean_before, *variance_before;
    float *mean, *variance; /* nullptr: nobody reads it */
    __device__ void operator()(int64_t c) const {
        double inverse = saved_inverse[c], keep = s.momentum, of_batch = fmax(1 / (inverse * inverse) - s.epsilon, 0.0);
        if (mean != nullptr) mean[c] = (float)(keep * mean_before[c] + (1 - keep) * saved_mean[c]);
        if (variance != nullptr) variance[c] = (float)(keep * variance_before[c] + (1 - keep) * of_batch * s.correction);
    }
};

void run_planned(const ons_launch *l, const ons_cuda_batch *s) {
    float *const *out = (float *const *)l->outputs;
    ons_cuda_batch_run_training(s, l);
    if (out[1] != nullptr || out[2] != nullptr)
        ons::each(l, s->channels, renew_statistics{*s, out[3], out[4], (const float *)l->inputs[3],
                                                   (const float *)l->inputs[4], out[1], out[2]});
}

template <class T, class P> struct training {
    static void run(const ons_launch *l, const ons_cuda_batch *s) {
        P *const *out = (P *const *)l->outputs;
        ons::run_batch_training<T, P>(l, s, {out[1], out[2], out[3], out[4]});
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization_training(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    if (s->plan != nullptr) return run_planned(launch, s);
    ons::dispatch_batch<training>(launch, s);
}
