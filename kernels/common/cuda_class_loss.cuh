/* Losses with class numbers as targets on CUDA: see class_loss.h. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CLASS_LOSS_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CLASS_LOSS_CUH

#include "kernels/common/cuda_lookup.cuh"
#include "kernels/common/cuda_rows.cuh"

namespace ons {

__device__ inline int64_t target_at(const ons_class_loss &loss, const void *targets, int64_t i) {
    return index_at(!loss.wide, targets, i);
}

/* The class, or -1 where the target does not count. */
__device__ inline int64_t class_at(const ons_class_loss &loss, const void *targets, int64_t i) {
    int64_t target = target_at(loss, targets, i);
    return target == loss.ignore_index || target < 0 || target >= loss.view.length ? -1 : target;
}

/* What cross entropy hands back to one row: (e^(x - log Σ e^x) - [class is the target]) × scale, 0 where the target does not count. dx
 * may be x; both begin at the arena's alignment, so that packs lie alike in them. */
template <class T> struct class_slopes {
    const T *x;
    T *dx;
    float log_sum, scale;
    int64_t target; /* -1: it does not count */
    template <int COUNT> __device__ void take(int64_t k) {
        float values[COUNT];
        read<COUNT>(x, k, false, values);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) values[i] = slope(values[i], k + i);
        write<COUNT>(dx, k, values);
    }
    __device__ float slope(float value, int64_t k) const {
        return target < 0 ? 0.0f : (expf(value - log_sum) - (k == target ? 1.0f : 0.0f)) * scale;
    }
    template <class Group> __device__ void fill(const ons_axis_view &view) {
        if constexpr (Group::SIZE > 1)
            each_pack<Group>(x, view.length, *this);
        else
            for (int64_t k = 0; k < view.length; ++k) dx[k * view.inner] = narrow<T>(slope(widen(x[k * view.inner]), k));
    }
};

/* The first target that is no class is noted. */
[[maybe_unused]] static __global__ void check_classes(ons_class_loss loss, const void *targets, fault_place fault) {
    int64_t count = loss.view.outer * loss.view.inner;
    int64_t worst = first_wrong(count, [&](int64_t i) {
        return target_at(loss, targets, i) != loss.ignore_index && class_at(loss, targets, i) < 0;
    });
    if (threadIdx.x == 0 && worst < count) note_fault(fault, ONS_CLASS_PROBLEM, worst, target_at(loss, targets, worst));
}

inline void launch_check_classes(const ons_launch *l, const ons_class_loss &loss, const void *targets) {
    launch(l, check_classes, blocks_to_check(loss.view.outer * loss.view.inner), LOOKUP_THREADS, loss, targets, fault_of(l));
}

/* One block: Σ terms ÷ counted targets of the step. */
[[maybe_unused]] static __global__ void mean_of_terms(const double *terms, int64_t count, const ons_step *step, float *result) {
    double sum = ordered_sum(terms, count);
    if (threadIdx.x == 0) *result = (float)(sum / step->counted_targets);
}

} // namespace ons

#endif
