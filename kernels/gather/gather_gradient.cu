#include "kernels/gather_scatter/cuda_sorted_places.cuh"

namespace {

struct looked_up_rows {
    bool narrow;
    const void *indices;
    int64_t count, length, skipped;
    __device__ int64_t row(int64_t place) const {
        int64_t found = ons::resolve_index(ons::index_at(narrow, indices, place), length);
        return found == skipped ? -1 : found;
    }
};

} // namespace

extern "C" void ons_cuda_run_gather_gradient(const ons_launch *launch) {
    const ons_gather *s = (const ons_gather *)launch->state;
    looked_up_rows rows = {s->index_dtype == ONS_INT32, launch->inputs[1], s->count, s->length, s->skipped};
    ons::add_rows_back(launch, rows, s->outer, s->inner);
}
