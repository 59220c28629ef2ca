/* GroupNormalization and InstanceNormalization on CUDA: a group of a sample lies side by side, and is a row. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_GROUP_NORM_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_GROUP_NORM_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/normalization/cuda_batch.h"
}

namespace ons {

/* The scale's (and bias's) number for element k of row `row`. */
__device__ inline int64_t group_scale(const ons_group_norm &norm, int64_t row, int64_t k) {
    int64_t group = row % norm.groups;
    return norm.scale_per_group ? group : group * norm.width + k / norm.size.positions;
}

template <class Group, class T>
__global__ void normalize_groups(ons_group_norm norm, float epsilon, const T *x, const T *scale, const T *bias, T *y,
                                 float *means, float *inverses) {
    int64_t n = norm.width * norm.size.positions;
    for (int64_t row = Group::first(); row < norm.size.batch * norm.groups; row += Group::stride()) {
        const T *from = x + row * n;
        float sum = 0, squares = 0;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) sum += widen(from[k]);
        float mean = Group::reduce(sum, 0.0f, add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float d = widen(from[k]) - mean;
            squares += d * d;
        }
        float inverse = 1 / sqrtf(Group::reduce(squares, 0.0f, add()) / (float)n + epsilon);
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            int64_t c = group_scale(norm, row, k);
            y[row * n + k] = narrow<T>((widen(from[k]) - mean) * inverse * widen(scale[c]) + widen(bias[c]));
        }
        if (Group::lane() == 0 && means != nullptr) means[row] = mean;
        if (Group::lane() == 0 && inverses != nullptr) inverses[row] = inverse;
    }
}

template <class T> void run_group_norm(const ons_launch *l, const ons_cuda_group *s) {
    const T *const *in = (const T *const *)l->inputs;
    ons_axis_view view = {s->norm.size.batch * s->norm.groups, s->norm.width * s->norm.size.positions, 1};
    if (view.length > 0)
        ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, normalize_groups, T, s->norm, s->epsilon, in[0], in[1], in[2],
                             (T *)l->outputs[0], (float *)l->outputs[1], (float *)l->outputs[2]);
}

inline void group_norm(const ons_launch *l) {
    const ons_cuda_group *s = (const ons_cuda_group *)l->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_group_norm, l, s);
}

} // namespace ons

#endif
