#include "kernels/linear/cuda_epilogue.cuh"
#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCER(column_sums, 0, a + x, a + b, a)

extern "C" void ons_cuda_run_linear_weight_gradient(const ons_launch *launch) {
    const ons_cuda_linear_weight_node *s = (const ons_cuda_linear_weight_node *)launch->state;
    bool whole = ons::in_epilogue(&s->gemm);
    ons::run_gemm_into(&s->gemm, launch, launch->outputs[0], whole ? launch->outputs[1] : nullptr);
    if (whole) return;
    ons_launch sums = *launch;
    sums.inputs = launch->inputs + s->summed;
    sums.outputs = launch->outputs + 1;
    sums.state = s->sums;
    ons::reduce_floats<column_sums_reducer>(&sums);
}
