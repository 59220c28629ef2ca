#include "kernels/gather_scatter/cuda_sorted_places.cuh"

namespace {

/* Those of kernels/gather/gather_gradient.cu that the shard has. Not one type for both: a row that is counted from
 * elsewhere costs ptxas the loads in flight of the additions, which never ask for it. */
struct rows_of_the_shard : ons_gather {
    const void *indices;
    __device__ int64_t row(int64_t place) const {
        int64_t found = ons_gather_row(this, ons::index_at(index_dtype == ONS_INT32, indices, place));
        return found == skipped ? -1 : found;
    }
};

} // namespace

extern "C" void ons_cuda_run_gather_shard_gradient(const ons_launch *launch) {
    const ons_gather *s = (const ons_gather *)launch->state;
    ons::add_rows_back(launch, rows_of_the_shard{*s, launch->inputs[1]}, s->outer, s->inner);
}
