/* LRN on CUDA: see local_response.h. */
#ifndef ONSTAGE_KERNELS_LRN_CUDA_LOCAL_RESPONSE_CUH
#define ONSTAGE_KERNELS_LRN_CUDA_LOCAL_RESPONSE_CUH

#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/lrn/local_window.h"
}

namespace ons {

/* bias + weight Σ x² over the window of element `at`, which is of channel `channel`. */
template <class T>
__device__ inline float local_sum(const ons_local_response &l, const T *x, int64_t at, int64_t channel) {
    float sum = 0;
    for (int64_t c = -l.before; c <= l.after; ++c) {
        if (channel + c < 0 || channel + c >= l.size.channels) continue;
        float value = widen(x[at + c * l.size.positions]);
        sum += value * value;
    }
    return l.bias + l.weight * sum;
}

} // namespace ons

#endif
