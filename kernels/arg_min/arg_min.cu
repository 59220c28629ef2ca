#include "kernels/argminmax/cuda_argminmax.cuh"

extern "C" void ons_cuda_run_arg_min(const ons_launch *launch) {
    const ons_cuda_typed *typed = (const ons_cuda_typed *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(typed->dtype, ons::run_argminmax, launch, (const ons_argminmax *)typed->state, false);
}
