#include "kernels/linear/cuda_epilogue.cuh"

namespace {

template <class T> void run_add(const ons_launch *l, const ons_cuda_linear_add_node *s) {
    ons::each(l, s->elements, ons::apply_add<T>{(const T *)l->inputs[s->added], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_linear_add(const ons_launch *launch) {
    const ons_cuda_linear_add_node *s = (const ons_cuda_linear_add_node *)launch->state;
    const void *bias = s->added == 3 ? launch->inputs[2] : nullptr;
    ons::run_gemm_into(&s->gemm, launch, launch->outputs[0], bias, nullptr, launch->inputs[s->added]);
    if (s->gemm.plan == nullptr || !s->gemm.call.adds) ONS_CUDA_FLOAT_DISPATCH(s->gemm.call.dtype, run_add, launch, s);
}
