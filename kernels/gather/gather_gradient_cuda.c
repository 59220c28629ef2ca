/* GatherGradient on CUDA: what the host works out. */
#include "kernels/gather/gather_gradient.h"
#include "kernels/gather_scatter/sorted_places.h"

extern ons_run_function ons_cuda_run_gather_gradient;

ons_status *ons_gather_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[COTANGENT].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CUDA kernel for %s", ons_dtype_name(o->inputs[COTANGENT].dtype));
    state *s;
    ONS_NEW_STATE(s, p);
    *s = make_state(o);
    return ons_sorted_places_scratch(p, s->outer, s->count, s->inner);
}

ONS_KERNELS(cuda, gather_gradient, ONS_KERNEL(ons_gather_gradient_cuda_prepare, ons_cuda_run_gather_gradient))
