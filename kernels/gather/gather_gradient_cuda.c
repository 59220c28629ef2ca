/* GatherGradient on CUDA: what the host works out. */
#include "kernels/gather/gather_gradient.h"

extern ons_run_function ons_cuda_run_gather_gradient;

/* No scratch: see gather_gradient.cu. */
static ons_status *gather_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[COTANGENT].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CUDA kernel for %s", ons_dtype_name(o->inputs[COTANGENT].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    *(state *)memory = make_state(o);
    return NULL;
}

ONS_KERNELS(cuda, gather_gradient, ONS_KERNEL(gather_gradient_cuda_prepare, ons_cuda_run_gather_gradient))
