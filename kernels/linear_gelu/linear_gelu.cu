#include "kernels/linear/cuda_epilogue.cuh"

namespace {

template <class T> void run_gelu(const ons_launch *l, const ons_cuda_linear_gelu_node *s, const void *before) {
    ons::each(l, s->elements, ons::apply_gelu<T>{(const T *)before, (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_linear_gelu(const ons_launch *launch) {
    const ons_cuda_linear_gelu_node *s = (const ons_cuda_linear_gelu_node *)launch->state;
    void *y = launch->outputs[0], *kept = launch->outputs[1], *scratch = (char *)launch->scratch + s->kept_at;
    if (ons::in_epilogue(&s->gemm)) {
        ons::run_gemm_into(&s->gemm, launch, y, launch->inputs[2], kept != nullptr ? kept : scratch);
        return;
    }
    void *before = kept != nullptr ? kept : y;
    ons::run_gemm_into(&s->gemm, launch, before, launch->inputs[2]);
    ONS_CUDA_FLOAT_DISPATCH(s->gemm.call.dtype, run_gelu, launch, s, before);
}
