/* GeluGradient on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/gelu/gelu_formulas.h"

extern ons_run_function ons_cuda_run_gelu, ons_cuda_run_gelu_gradient;

static ons_status *gelu_gradient_cuda_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}

static void run_gelu_again(const ons_launch *launch) {
    const void *const inputs[] = {launch->inputs[1]};
    void *const outputs[] = {launch->outputs[1]};
    ons_launch again = *launch;
    again.inputs = inputs;
    again.outputs = outputs;
    ons_cuda_run_gelu(&again);
}

/* Of the two results only the last may take x's place. */
static void gelu_gradient_cuda_run(const ons_launch *launch) {
    bool in_place = launch->outputs[1] == launch->inputs[1];
    if (launch->outputs[1] != NULL && !in_place) run_gelu_again(launch);
    ons_cuda_run_gelu_gradient(launch);
    if (in_place) run_gelu_again(launch);
}

ONS_KERNELS(cuda, gelu_gradient, ONS_KERNEL(gelu_gradient_cuda_prepare, gelu_gradient_cuda_run))
