/* GatherNDGradient on CUDA: what the host works out. */
#include "kernels/gather_nd/gather_nd_gradient_node.h"
#include "kernels/gather_scatter/sorted_places.h"

extern ons_run_function ons_cuda_run_gather_nd_gradient;

static ons_status *gather_nd_gradient_cuda_prepare(ons_prepare *p) {
    ONS_TRY(ons_gather_nd_gradient_prepare(p));
    const ons_nd_indexing *indexing = &((const ons_gather_nd_gradient *)p->state)->indexing;
    return ons_sorted_places_scratch(p, 1, indexing->batches * indexing->tuples, indexing->slice);
}

ONS_KERNELS(cuda, gather_nd_gradient, ONS_KERNEL(gather_nd_gradient_cuda_prepare, ons_cuda_run_gather_nd_gradient))
