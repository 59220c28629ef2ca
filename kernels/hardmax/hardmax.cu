#include "kernels/argminmax/cuda_argminmax.cuh"
extern "C" {
#include "kernels/softmax/cuda_softmax.h"
}

namespace {

template <class Group, class T> __global__ void hardmax_rows(ons_axis_view view, const T *x, T *y) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), index = ons::argminmax_of_row<Group>(view, start, x, true, false);
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            y[start + k * view.inner] = ons::narrow<T>(k == index ? 1.0f : 0.0f);
    }
}

template <class T> void run_hardmax(const ons_launch *l, const ons_axis_view &view) {
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, hardmax_rows, T, view, (const T *)l->inputs[0],
                         (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_hardmax(const ons_launch *launch) {
    const ons_cuda_rows *rows = (const ons_cuda_rows *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(rows->dtype, run_hardmax, launch, rows->view);
}

ONS_KERNELS(cuda, hardmax, ONS_KERNEL(ons_cuda_softmax_prepare, ons_cuda_run_hardmax))
