#include "kernels/common/cuda_elementwise.cuh"

namespace {

constexpr int SQUARE_THREADS = 256;

/* One block a part; each gives a double. */
template <class T> __global__ void square_parts(int64_t elements, int parts, const T *x, double *sums) {
    int64_t begin = elements * blockIdx.x / parts, end = elements * (blockIdx.x + 1) / parts;
    double sum = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += SQUARE_THREADS) {
        double value = (double)ons::widen(x[i]);
        sum += value * value;
    }
    sum = ons::block_reduce<SQUARE_THREADS>(sum, 0.0, ons::add());
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void square_total(int parts, const double *sums, double *total) {
    double sum = (int)threadIdx.x < parts ? sums[threadIdx.x] : 0;
    sum = ons::block_reduce<SQUARE_THREADS>(sum, 0.0, ons::add());
    if (threadIdx.x == 0) *total = sum;
}

template <class T> void run_square_sum(const ons_launch *l) {
    int64_t n = ((const ons_cuda_elementwise *)l->state)->elements;
    int parts = n < 16 * SQUARE_THREADS ? 1 : n > (int64_t)SQUARE_THREADS * 16 * SQUARE_THREADS ? SQUARE_THREADS : (int)(n / (16 * SQUARE_THREADS));
    ons::launch(l, square_parts<T>, parts, SQUARE_THREADS, n, parts, (const T *)l->inputs[0], (double *)l->scratch);
    ons::launch(l, square_total, 1, SQUARE_THREADS, parts, (const double *)l->scratch, (double *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_square_sum(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_square_sum, launch);
}
