#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/max_unpool/max_unpool.h"
}

namespace {

/* One block: the first index that lies outside is noted. */
__global__ void check_places(int64_t count, int64_t room, const int64_t *indices, ons::fault_place fault) {
    int64_t worst = count;
    for (int64_t i = threadIdx.x; i < count && worst == count; i += ons::INDEXING_THREADS)
        if (indices[i] < 0 || indices[i] >= room) worst = i;
    worst = ons::block_reduce<ons::INDEXING_THREADS>(worst, count, ons::smaller());
    if (threadIdx.x == 0 && worst < count) ons::note_fault(fault, worst, indices[worst]);
}

/* Of several values for one element the last stays: a maximum, whatever the order in which they come. */
struct claim {
    ons_max_unpool s;
    const int64_t *indices;
    unsigned long long *owners;
    __device__ void operator()(int64_t i) const {
        int64_t index = indices[i], place = 0, scale = 1;
        if (index < 0 || index >= s.room) return;
        for (int d = (int)s.made.rank - 1; d >= 0; --d) {
            place += index % s.made.dims[d] * scale;
            scale *= s.whole.dims[d];
            index /= s.made.dims[d];
        }
        (void)atomicMax(&owners[place], (unsigned long long)i + 1);
    }
};

struct owned {
    const unsigned long long *owners;
    const float *x;
    float *y;
    __device__ void operator()(int64_t i) const { y[i] = owners[i] == 0 ? 0 : x[owners[i] - 1]; }
};

} // namespace

extern "C" void ons_cuda_run_max_unpool(const ons_launch *launch) {
    const ons_max_unpool *s = (const ons_max_unpool *)launch->state;
    const int64_t *indices = (const int64_t *)launch->inputs[1];
    unsigned long long *owners = (unsigned long long *)launch->scratch;
    ons::launch(launch, check_places, 1, ons::INDEXING_THREADS, s->values, s->room, indices,
                ons::fault_of(launch, ONS_MAX_UNPOOL_PROBLEM));
    ons::zero_bytes(launch, owners, s->elements * (int64_t)sizeof *owners);
    ons::each(launch, s->values, claim{*s, indices, owners});
    ons::each(launch, s->elements, owned{owners, (const float *)launch->inputs[0], (float *)launch->outputs[0]});
}
