/* The square sums of all gradients, added in the order of the operands, as many at a time as a kernel's arguments hold.
 */
#ifndef ONSTAGE_KERNELS_CLIP_FACTOR_CUDA_SQUARE_SUMS_CUH
#define ONSTAGE_KERNELS_CLIP_FACTOR_CUDA_SQUARE_SUMS_CUH

#include "kernels/common/cuda/cuda.cuh"

namespace ons {

constexpr int SQUARE_SUMS = 440;

struct square_sums {
    const double *at[SQUARE_SUMS];
    int count;
    bool first, last; /* of the launches for one norm */
};

/* Those from `begin` on, of `count` operands. */
inline square_sums square_sums_from(const ons_launch *l, uint32_t first, uint32_t begin, uint32_t count) {
    square_sums sums = {};
    for (; sums.count < SQUARE_SUMS && begin + sums.count < count; ++sums.count)
        sums.at[sums.count] = (const double *)l->inputs[begin + sums.count];
    sums.first = begin == first;
    sums.last = begin + sums.count == count;
    return sums;
}

/* By a block of SQUARE_SUM_THREADS: they read, and the first one adds, to the sum so far. True: this thread has the sum
 * of all. */
constexpr int SQUARE_SUM_THREADS = 256;
__device__ inline bool add_square_sums(const square_sums &sums, double *total, double *result) {
    __shared__ double read[SQUARE_SUMS];
    for (int i = (int)threadIdx.x; i < sums.count; i += SQUARE_SUM_THREADS) read[i] = *sums.at[i];
    __syncthreads();
    if (threadIdx.x != 0) return false;
    double sum = sums.first ? 0 : *total;
    for (int i = 0; i < sums.count; ++i) sum += read[i];
    *total = sum;
    *result = sum;
    return sums.last;
}

} // namespace ons

#endif
