#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/scatter_nd/scatter_nd.h"
}

extern "C" void ons_cuda_run_scatter_nd(const ons_launch *launch) {
    const ons_scatter_nd *s = (const ons_scatter_nd *)launch->state;
    ons::tuple_targets targets = {s->indexing, launch->inputs[1]};
    ons::launch(launch, ons::check_tuples, 1, ons::INDEXING_THREADS, targets, ons::fault_of(launch, ONS_INDEX_PROBLEM));
    ons::scatter(launch, targets, s->mode, s->size, s->bytes);
}
