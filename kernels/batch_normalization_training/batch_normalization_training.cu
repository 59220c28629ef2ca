#include "kernels/normalization/cuda_batch.cuh"

namespace {

/* The running statistics from what cuDNN made: see finish_training of cuda_batch.cuh. A variance that its inverse
 * deviation hides comes from sums over the channel. */
struct renew_statistics {
    ons_cuda_batch s;
    const double *partial; /* of those channels */
    const float *saved_mean, *saved_inverse, *mean_before, *variance_before;
    float *mean, *variance; /* nullptr: nobody reads it */
    __device__ double variance_of(int64_t c) const {
        double inverse = saved_inverse[c];
        return ons::hides_variance(s, saved_inverse[c]) ? ons::channel_variance(s, partial, c)
                                                        : 1 / (inverse * inverse) - s.epsilon;
    }
    __device__ void operator()(int64_t c) const {
        double keep = s.momentum;
        if (mean != nullptr) mean[c] = (float)(keep * mean_before[c] + (1 - keep) * saved_mean[c]);
        double correction = ons::correction_of(s, ons::values_of(s));
        if (variance != nullptr)
            variance[c] = (float)(keep * variance_before[c] + (1 - keep) * variance_of(c) * correction);
    }
};

/* The library is done with the scratch when the sums come there. */
template <class T> void renew(const ons_launch *l, const ons_cuda_batch *s) {
    float *const *out = (float *const *)l->outputs;
    ons::channel_maps maps = ons::channel_maps_of(l, s);
    if (out[2] != nullptr)
        ons::sum_by_channel<T, float>(l, s, maps, ons::input_of<T>(l, 0), nullptr, nullptr, {}, out[4]);
    ons::each(l, s->channels,
              renew_statistics{*s, maps.partial, out[3], out[4], (const float *)l->inputs[3],
                               (const float *)l->inputs[4], out[1], out[2]});
}

void run_planned(const ons_launch *l, const ons_cuda_batch *s) {
    ons_cuda_batch_run_training(s, l);
    if (l->outputs[1] == nullptr && l->outputs[2] == nullptr) return;
    s->dtype == ONS_FLOAT16 ? renew<__half>(l, s) : renew<__nv_bfloat16>(l, s);
}

template <class T, class P> struct training {
    static void run(const ons_launch *l, const ons_cuda_batch *s) {
        P *const *out = (P *const *)l->outputs;
        ons::run_batch_training<T, P>(l, s, {out[1], out[2], out[3], out[4], s->sloped ? out[5] : nullptr});
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization_training(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    if (s->plan != nullptr) return run_planned(launch, s);
    ons::dispatch_batch<training>(launch, s);
}
