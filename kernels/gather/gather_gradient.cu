#include "kernels/gather_scatter/cuda_sorted_places.cuh"

namespace {

struct looked_up_rows {
    bool narrow;
    const void *indices;
    int64_t count, length;
    __device__ int64_t row(int64_t place) const {
        return ons::resolve_index(ons::index_at(narrow, indices, place), length);
    }
};

} // namespace

extern "C" void ons_cuda_run_gather_gradient(const ons_launch *launch) {
    const ons_gather *s = (const ons_gather *)launch->state;
    ons::add_rows_back(launch, looked_up_rows{s->index_dtype == ONS_INT32, launch->inputs[1], s->count, s->length},
                       s->outer, s->inner);
}
