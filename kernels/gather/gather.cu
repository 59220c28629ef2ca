#include "kernels/common/indexing/cuda_indexing.cuh"

namespace {

/* Rows in units of UNIT; what lies outside of the table, or of this shard of it, gives zeros. */
template <class Unit>
__global__ void gather_rows(ons_gather s, int64_t width, bool narrow, const Unit *data, const void *indices,
                            Unit *out) {
    int64_t units = s.outer * s.count * width;
    for (int64_t i = ons::global_thread(); i < units; i += ons::global_threads()) {
        int64_t place = i / width, column = i - place * width;
        int64_t row = ons_gather_row(&s, ons::index_at(narrow, indices, place % s.count));
        out[i] = row < 0 ? Unit() : data[(place / s.count * s.length + row) * width + column];
    }
}

template <class Unit> void run_gather(const ons_launch *l, const ons_gather *s) {
    int64_t width = s->inner / (int64_t)sizeof(Unit);
    ons::launch(l, gather_rows<Unit>, ons::blocks_for(s->outer * s->count * width, 256), 256, *s, width,
                s->index_dtype == ONS_INT32, (const Unit *)l->inputs[0], l->inputs[1], (Unit *)l->outputs[0]);
}

bool fits(const ons_launch *l, const ons_gather *s, int64_t bytes) {
    return s->inner % bytes == 0 && ons::is_aligned(l->inputs[0], bytes) && ons::is_aligned(l->outputs[0], bytes);
}

} // namespace

extern "C" void ons_cuda_run_gather(const ons_launch *launch) {
    const ons_gather *s = (const ons_gather *)launch->state;
    if (s->count == 0) return;
    ons::launch(launch, ons::check_indices, ons::blocks_to_check(s->count), ons::INDEXING_THREADS,
                s->index_dtype == ONS_INT32, launch->inputs[1], s->count, s->entries,
                ons::fault_of(launch, ONS_INDEX_PROBLEM));
    if (fits(launch, s, 16))
        run_gather<ons::pack<uint32_t, 4>>(launch, s);
    else if (fits(launch, s, 4))
        run_gather<uint32_t>(launch, s);
    else
        run_gather<uint8_t>(launch, s);
}
