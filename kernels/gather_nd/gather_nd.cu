#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_nd/gather_nd.h"
}

extern "C" void ons_cuda_run_gather_nd(const ons_launch *launch) {
    const ons_gather_nd *s = (const ons_gather_nd *)launch->state;
    ons::tuple_targets targets = {s->indexing, launch->inputs[1]};
    ons::launch(launch, ons::check_tuples, 1, ons::INDEXING_THREADS, targets, ons::fault_of(launch, ONS_INDEX_PROBLEM));
    ONS_CUDA_UNIT_DISPATCH(s->size, ons::look_up, launch, targets);
}
