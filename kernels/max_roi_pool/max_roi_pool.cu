#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/max_roi_pool/roi_window.h"
}

namespace {

/* One block: the first region without a sample is noted. */
__global__ void check_samples(int64_t count, int64_t batch, const float *regions, ons::fault_place fault) {
    int64_t worst = count;
    for (int64_t i = threadIdx.x; i < count && worst == count; i += ons::INDEXING_THREADS)
        if (!(regions[5 * i] >= 0 && regions[5 * i] < (float)batch)) worst = i;
    worst = ons::block_reduce<ons::INDEXING_THREADS>(worst, count, ons::smaller());
    if (threadIdx.x == 0 && worst < count) ons::note_fault(fault, worst, worst);
}

struct largest_of_bin {
    ons_roi_sizes s;
    const float *x, *regions;
    float *y;
    int32_t *positions; /* nullptr: not wanted */
    __device__ void operator()(int64_t i) const {
        int64_t rest = i / s.columns, channel = rest / s.rows % s.channels, top, bottom, left, right, best = -1;
        const float *region = regions + rest / s.rows / s.channels * 5;
        ons_roi_span(region[2], region[4], s.scale, rest % s.rows, s.rows, s.height, &top, &bottom);
        ons_roi_span(region[1], region[3], s.scale, i % s.columns, s.columns, s.width, &left, &right);
        bool inside = region[0] >= 0 && region[0] < (float)s.batch;
        const float *plane = x + (inside ? (int64_t)region[0] * s.channels + channel : 0) * s.height * s.width;
        for (int64_t at = top * s.width; inside && at < bottom * s.width; at += s.width)
            for (int64_t k = left; k < right; ++k)
                if (best < 0 || plane[at + k] > plane[best]) best = at + k;
        y[i] = best < 0 ? 0 : plane[best];
        if (positions != nullptr) positions[i] = (int32_t)best;
    }
};

} // namespace

extern "C" void ons_cuda_run_max_roi_pool(const ons_launch *launch) {
    const ons_roi_sizes *s = (const ons_roi_sizes *)launch->state;
    const float *regions = (const float *)launch->inputs[1];
    ons::launch(launch, check_samples, 1, ons::INDEXING_THREADS, s->regions, s->batch, regions,
                ons::fault_of(launch, ONS_ROI_PROBLEM));
    ons::each(launch, s->regions * s->channels * s->rows * s->columns,
              largest_of_bin{*s, (const float *)launch->inputs[0], regions, (float *)launch->outputs[0],
                             (int32_t *)launch->outputs[1]});
}
