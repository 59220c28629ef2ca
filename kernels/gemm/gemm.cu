#include "kernels/common/gemm/cuda_gemm.cuh"

namespace {

/* Y = beta C, spread over rows and columns. */
template <class T>
__global__ void spread_c(int64_t rows, int64_t columns, int64_t row, int64_t column, float beta, const T *c, T *y) {
    for (int64_t i = ons::global_thread(); i < rows * columns; i += ons::global_threads())
        y[i] = ons::narrow<T>(beta * ons::widen(c[i / columns * row + i % columns * column]));
}

template <class T> void run_spread(const ons_launch *l, const ons_cuda_gemm_node *s) {
    ons::launch(l, spread_c<T>, ons::blocks_for(s->rows * s->columns, 256), 256, s->rows, s->columns, s->row, s->column,
                s->beta, (const T *)l->inputs[2], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_gemm(const ons_launch *launch) {
    const ons_cuda_gemm_node *s = (const ons_cuda_gemm_node *)launch->state;
    if (s->added) ONS_CUDA_FLOAT_DISPATCH(s->gemm.call.dtype, run_spread, launch, s);
    ons::run_gemm(&s->gemm, launch, s->bias ? launch->inputs[2] : nullptr);
}
