#include "kernels/linear/cuda_epilogue.cuh"

namespace {

template <class T> void run_slope(const ons_launch *l, const ons_cuda_linear_gelu_node *s) {
    ons::each(l, s->elements, ons::apply_gelu_slope<T>{(const T *)l->inputs[2], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_linear_gelu_gradient(const ons_launch *launch) {
    const ons_cuda_linear_gelu_node *s = (const ons_cuda_linear_gelu_node *)launch->state;
    bool whole = ons::in_epilogue(&s->gemm);
    ons::run_gemm_into(&s->gemm, launch, launch->outputs[0], nullptr, whole ? launch->inputs[2] : nullptr);
    if (!whole) ONS_CUDA_FLOAT_DISPATCH(s->gemm.call.dtype, run_slope, launch, s);
}
