/* The gradients of Softmax and LogSoftmax on CUDA, which differ in what is summed up and what the sum is multiplied
 * with. */
#ifndef ONSTAGE_KERNELS_SOFTMAX_CUDA_SOFTMAX_GRADIENT_CUH
#define ONSTAGE_KERNELS_SOFTMAX_CUDA_SOFTMAX_GRADIENT_CUH

#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/softmax/cuda_softmax.h"
}

namespace ons {

/* dx = y (dy - Σ dy y), of logarithms dx = dy - e^y Σ dy; dx may be y or dy. */
template <class Group, class T>
__global__ void softmax_slopes(ons_axis_view view, bool logarithms, const T *y, const T *dy, T *dx) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = row_start(view, row);
        float sum = 0;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            sum += logarithms ? widen(dy[at]) : widen(dy[at]) * widen(y[at]);
        }
        sum = Group::reduce(sum, 0.0f, add());
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            float value = widen(y[at]), slope = widen(dy[at]);
            dx[at] = narrow<T>(logarithms ? slope - expf(value) * sum : value * (slope - sum));
        }
    }
}

template <class T> void run_softmax_gradient(const ons_launch *l, const ons_axis_view &view, bool logarithms) {
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, softmax_slopes, T, view, logarithms, (const T *)l->inputs[0],
                         (const T *)l->inputs[1], (T *)l->outputs[0]);
}

inline void softmax_gradient(const ons_launch *l, bool logarithms) {
    const ons_cuda_rows *rows = (const ons_cuda_rows *)l->state;
    ONS_CUDA_FLOAT_DISPATCH(rows->dtype, run_softmax_gradient, l, rows->view, logarithms);
}

} // namespace ons

#endif
