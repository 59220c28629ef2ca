/* Matrix products on CUDA, from a .cu file. */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_CUDA_GEMM_CUH
#define ONSTAGE_KERNELS_COMMON_GEMM_CUDA_GEMM_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/gemm/cuda_gemm.h"
}

namespace ons {

/* What a product over nothing leaves. */
template <class T> __global__ void fill_product(int64_t elements, int64_t columns, const T *bias, T *c) {
    for (int64_t i = global_thread(); i < elements; i += global_threads())
        c[i] = bias == nullptr ? narrow<T>(0.0f) : bias[i % columns];
}

template <class T> void fill(const ons_cuda_gemm_state *p, const ons_launch *l, void *c, const void *bias) {
    int64_t elements = p->output_bytes / (int64_t)sizeof(T);
    launch(l, fill_product<T>, blocks_for(elements, 256), 256, elements, p->call.n, (const T *)bias, (T *)c);
}

/* The node's product into `c`; `vector` and `matrix` as the epilogue has them; `added`: NULL for what `c` holds. */
inline void run_gemm_into(const ons_cuda_gemm_state *p, const ons_launch *l, void *c, const void *vector,
                          const void *matrix = nullptr, const void *added = nullptr) {
    if (p->plan != nullptr)
        ons_cuda_gemm_run(p, l, c, vector, matrix, added);
    else if (!p->call.adds)
        ONS_CUDA_FLOAT_DISPATCH(p->call.dtype, fill, p, l, c, p->call.epilogue == ONS_CUDA_BIAS ? vector : nullptr);
}

/* The node's product; `bias` NULL unless it was planned with one. */
inline void run_gemm(const ons_cuda_gemm_state *p, const ons_launch *l, const void *bias) {
    run_gemm_into(p, l, l->outputs[0], bias);
}

} // namespace ons

#endif
