#include "kernels/gather_scatter/cuda_scatter.cuh"
#include "kernels/gather_scatter/cuda_sorted_places.cuh"
extern "C" {
#include "kernels/gather_nd/gather_nd_gradient.h"
}

namespace {

/* A row is a slice; those of all batches are counted through. */
struct looked_up_slices {
    ons::tuple_targets targets;
    int64_t count, length;
    __device__ int64_t row(int64_t place) const {
        int64_t bad = 0, slice = targets.slice_of(place, &bad);
        return slice < 0 ? -1 : slice / targets.indexing.slice;
    }
};

} // namespace

extern "C" void ons_cuda_run_gather_nd_gradient(const ons_launch *launch) {
    const ons_gather_nd_gradient *s = (const ons_gather_nd_gradient *)launch->state;
    const ons_nd_indexing *indexing = &s->indexing;
    if (indexing->slice == 0) return;
    looked_up_slices rows = {{*indexing, launch->inputs[1]},
                             indexing->batches * indexing->tuples,
                             indexing->batches * (indexing->per_batch / indexing->slice)};
    ons::add_rows_back(launch, rows, 1, indexing->slice);
}
