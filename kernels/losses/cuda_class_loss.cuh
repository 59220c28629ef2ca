/* Losses with class numbers as targets on CUDA: see class_loss.h. */
#ifndef ONSTAGE_KERNELS_LOSSES_CUDA_CLASS_LOSS_CUH
#define ONSTAGE_KERNELS_LOSSES_CUDA_CLASS_LOSS_CUH

#include "kernels/common/indexing/cuda_indexing.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/common/math/far.h"
#include "kernels/losses/cuda_losses.h"
}

namespace ons {

__device__ inline int64_t target_at(const ons_class_loss &loss, const void *targets, int64_t i) {
    return index_at(!loss.wide, targets, i);
}

/* The class among so many, or -1 where the target does not count. */
__device__ inline int64_t class_among(int64_t classes, const ons_class_loss &loss, const void *targets, int64_t i) {
    int64_t target = target_at(loss, targets, i);
    return target == loss.ignore_index || target < 0 || target >= classes ? -1 : target;
}

/* Of a prediction of all classes. To read loss.classes instead, which are as many, takes registers. */
__device__ inline int64_t class_at(const ons_class_loss &loss, const void *targets, int64_t i) {
    return class_among(loss.view.length, loss, targets, i);
}

/* The weights on the device; null: 1 each. */
inline const float *class_weights(const ons_launch *l, const ons_class_loss &loss) {
    return loss.weights == ONS_NONE ? nullptr : (const float *)l->inputs[loss.weights];
}

/* See class_loss.h; `all` is each group's to find out. */
struct class_shares {
    const float *weights;
    float own, spread;
    __device__ float of_target(int64_t target) const { return own * ons_class_weight(weights, target); }
    __device__ float of_any(int64_t k) const { return spread > 0 ? spread * ons_class_weight(weights, k) : 0; }
};

inline class_shares class_shares_of(const ons_launch *l, const ons_class_loss &loss) {
    return {class_weights(l, loss), (float)(1 - loss.smoothing), (float)(loss.smoothing / (double)loss.classes)};
}

/* Σ w[k] of all classes, or their number, for every thread of the group. */
template <class Group> __device__ inline float sum_of_weights(const float *weights, int64_t classes) {
    if (weights == nullptr) return (float)classes;
    float sum = 0;
    for (int64_t k = Group::lane(); k < classes; k += Group::SIZE) sum += weights[k];
    return Group::reduce(sum, 0.0f, add());
}

/* Σ w[k] (max - x[k]) of a row, for every thread of its group. */
template <class Group, class T>
__device__ inline float sum_of_gaps(const T *x, float max, const float *weights, const ons_axis_view &view) {
    float sum = 0;
    for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
        sum += ons_class_weight(weights, k) * (max - widen(x[k * view.inner]));
    return Group::reduce(sum, 0.0f, add());
}

/* ons_far_share of a row, for every thread of its group. */
template <class Group, class T>
__device__ inline float far_share(const T *x, const ons_axis_view &view, float log_sum) {
    if (!ons_is_far(log_sum)) return 1.0f;
    float sum = 0;
    for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) sum += expf(widen(x[k * view.inner]) - log_sum);
    sum = Group::reduce(sum, 0.0f, add());
    Group::barrier(); /* dx may be x */
    return 1 / sum;
}

/* What cross entropy hands back to one row: (factor × e^(x - log Σ e^x) - [class is the target] own - spread × w) ×
 * scale, see class_loss.h; 0 where the target does not count. dx may be x; both begin at the arena's alignment, so that
 * packs lie alike in them. */
template <class T, class Shares = class_shares> struct class_slopes {
    const T *x;
    T *dx;
    float log_sum, scale;
    int64_t target; /* place of its class; -1: it does not count */
    Shares shares;
    float own, factor; /* of the target's class; of all */
    template <int COUNT> __device__ void take(int64_t k, const float (&values)[COUNT]) {
        float slopes[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) slopes[i] = slope(values[i], k + i);
        write<COUNT>(dx, k, slopes);
    }
    __device__ float slope(float value, int64_t k) const {
        if (target < 0) return 0.0f;
        return (factor * expf(value - log_sum) - (k == target ? own : 0.0f) - shares.of_any(k)) * scale;
    }
    template <class Group> __device__ void fill(const ons_axis_view &view) {
        if constexpr (Group::SIZE > 1)
            each_pack<Group>(x, view.length, *this);
        else
            for (int64_t k = 0; k < view.length; ++k)
                dx[k * view.inner] = narrow<T>(slope(widen(x[k * view.inner]), k));
    }
};

/* The first target that is no class is noted. */
[[maybe_unused]] static __global__ void check_classes(ons_class_loss loss, const void *targets, fault_place fault) {
    int64_t count = loss.view.outer * loss.view.inner;
    int64_t worst = first_wrong(count, [&](int64_t i) {
        return target_at(loss, targets, i) != loss.ignore_index && class_among(loss.classes, loss, targets, i) < 0;
    });
    if (threadIdx.x == 0 && worst < count) note_fault(fault, worst, target_at(loss, targets, worst), loss.classes);
}

inline void launch_check_classes(const ons_launch *l, const ons_class_loss &loss, const void *targets) {
    launch(l, check_classes, blocks_to_check(loss.view.outer * loss.view.inner), INDEXING_THREADS, loss, targets,
           fault_of(l, ONS_CLASS_PROBLEM));
}

/* One block: Σ terms ÷ counted targets of the step. */
[[maybe_unused]] static __global__ void mean_of_terms(const double *terms, int64_t count, const ons_step *step,
                                                      float *result) {
    double sum = ordered_sum(terms, count);
    if (threadIdx.x == 0) *result = (float)(sum / step->counted_targets);
}

} // namespace ons

#endif
