#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/roi_align/region.h"
}

namespace {

/* One block: the first region without an image is noted. */
__global__ void check_images(int64_t count, int64_t batch, const int64_t *images, ons::fault_place fault) {
    int64_t worst = count;
    for (int64_t i = threadIdx.x; i < count && worst == count; i += ons::INDEXING_THREADS)
        if (images[i] < 0 || images[i] >= batch) worst = i;
    worst = ons::block_reduce<ons::INDEXING_THREADS>(worst, count, ons::smaller());
    if (threadIdx.x == 0 && worst < count) ons::note_fault(fault, worst, images[worst]);
}

/* One bin of one channel. */
struct pooled_bin {
    ons_regions r;
    const float *x, *corners;
    const int64_t *images;
    float *y;
    __device__ void operator()(int64_t i) const {
        int64_t bins = r.out_height * r.out_width, bin = i % bins, number = i / bins / r.channels,
                image = images[number];
        double own[4];
        for (int k = 0; k < 4; ++k) own[k] = corners[4 * number + k];
        ons_region region = ons_region_make(&r, own);
        if (image < 0 || image >= r.batch) {
            y[i] = 0;
            return;
        }
        const float *plane = x + (image * r.channels + i / bins % r.channels) * r.height * r.width;
        float sum = 0, most = 0;
        int64_t count = region.rows * region.columns;
        for (int64_t at = 0; at < count; ++at) {
            ons_sample sample = ons_region_sample(&r, &region, bin / r.out_width, bin % r.out_width,
                                                  at / region.columns, at % region.columns);
            for (int k = 0; k < 4; ++k) {
                float part = (float)sample.weight[k] * plane[sample.element[k]];
                sum += part;
                most = (at == 0 && k == 0) || part > most ? part : most;
            }
        }
        y[i] = r.maximum ? most : count > 0 ? sum / (float)count : 0;
    }
};

} // namespace

extern "C" void ons_cuda_run_roi_align(const ons_launch *launch) {
    const ons_regions *r = (const ons_regions *)launch->state;
    const int64_t *images = (const int64_t *)launch->inputs[2];
    ons::launch(launch, check_images, 1, ons::INDEXING_THREADS, r->count, r->batch, images,
                ons::fault_of(launch, ONS_REGION_PROBLEM));
    ons::each(launch, r->count * r->channels * r->out_height * r->out_width,
              pooled_bin{*r, (const float *)launch->inputs[0], (const float *)launch->inputs[1], images,
                         (float *)launch->outputs[0]});
}
