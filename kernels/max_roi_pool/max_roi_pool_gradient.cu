#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/max_roi_pool/max_roi_pool_gradient.h"
}

namespace {

/* A thread for each plane goes through the regions in order, since they may share elements. */
struct collect_plane {
    ons_max_roi_pool_gradient s;
    const float *dy, *regions;
    const int32_t *positions;
    float *dx;
    __device__ void operator()(int64_t plane) const {
        float *to = dx + plane * s.positions;
        for (int64_t i = 0; i < s.positions; ++i) to[i] = 0;
        for (int64_t number = 0; number < s.regions; ++number) {
            float sample = regions[5 * number];
            if (!(sample >= 0 && sample < (float)s.batch) || (int64_t)sample != plane / s.channels) continue;
            int64_t first = (number * s.channels + plane % s.channels) * s.bins;
            for (int64_t i = first; i < first + s.bins; ++i)
                if (positions[i] >= 0 && positions[i] < s.positions) to[positions[i]] += dy[i];
        }
    }
};

} // namespace

extern "C" void ons_cuda_run_max_roi_pool_gradient(const ons_launch *launch) {
    const ons_max_roi_pool_gradient *s = (const ons_max_roi_pool_gradient *)launch->state;
    ons::each(launch, s->batch * s->channels,
              collect_plane{*s, (const float *)launch->inputs[0], (const float *)launch->inputs[1],
                            (const int32_t *)launch->inputs[2], (float *)launch->outputs[0]});
}
