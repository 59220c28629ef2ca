#include "kernels/common/cuda_elementwise.cuh"

namespace {

/* The first micro-batch copies: whatever lies in the sum is not read into it. */
template <int COUNT, class T>
__global__ void accumulate_elements(int64_t items, const T *sum, const T *summand, T *result, const ons_step *step) {
    bool first = step->micro_batch == 0;
    for (int64_t i = ons::global_thread(); i < items; i += ons::global_threads()) {
        float a[COUNT], b[COUNT];
        ons::read<COUNT>(summand, i * COUNT, false, b);
        if (!first) {
            ons::read<COUNT>(sum, i * COUNT, false, a);
#pragma unroll
            for (int k = 0; k < COUNT; ++k) b[k] = a[k] + b[k];
        }
        ons::write<COUNT>(result, i * COUNT, b);
    }
}

template <class T> void run_accumulate(const ons_launch *l) {
    int64_t n = ((const ons_cuda_elementwise *)l->state)->elements;
    const T *sum = (const T *)l->inputs[0], *summand = (const T *)l->inputs[1];
    T *result = (T *)l->outputs[0];
    bool fours = n % 4 == 0 && ons::is_aligned(sum, 4 * sizeof(T)) && ons::is_aligned(summand, 4 * sizeof(T)) &&
                 ons::is_aligned(result, 4 * sizeof(T));
    if (fours)
        ons::launch(l, accumulate_elements<4, T>, ons::blocks_for(n / 4, 256), 256, n / 4, sum, summand, result,
                    l->device_step);
    else
        ons::launch(l, accumulate_elements<1, T>, ons::blocks_for(n, 256), 256, n, sum, summand, result,
                    l->device_step);
}

} // namespace

extern "C" void ons_cuda_accumulate(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_accumulate, launch);
}
