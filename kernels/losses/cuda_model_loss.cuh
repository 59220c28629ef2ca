/* Losses with class numbers that a model holds itself, on CUDA: see model_loss.h. */
#ifndef ONSTAGE_KERNELS_LOSSES_CUDA_MODEL_LOSS_CUH
#define ONSTAGE_KERNELS_LOSSES_CUDA_MODEL_LOSS_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/losses/cuda_class_loss.cuh"
extern "C" {
#include "kernels/losses/model_loss.h"
}

namespace ons {

/* Where the loss of each target goes: weighted to `each`, or with its weight to the terms of a sum. */
struct target_losses {
    ons_class_loss classes;
    const void *labels;
    const float *weights; /* of every class, or nullptr */
    float *each;          /* or nullptr */
    double *terms, *counted;

    __device__ void take(int64_t i, int64_t target, float value) const {
        float weight = target < 0 ? 0 : weights == nullptr ? 1 : weights[target];
        if (each != nullptr) {
            each[i] = target < 0 ? 0 : weight * value;
        } else {
            terms[i] = target < 0 ? 0 : (double)weight * (double)value;
            counted[i] = weight;
        }
    }
};

inline const float *loss_weights(const ons_launch *l, const ons_model_loss *loss) {
    return loss->weights == ONS_NONE ? nullptr : (const float *)l->inputs[loss->weights];
}

inline target_losses target_losses_of(const ons_launch *l) {
    const ons_model_loss *loss = (const ons_model_loss *)l->state;
    double *terms = (double *)l->scratch;
    return {loss->classes,
            l->inputs[ONS_MODEL_LOSS_LABELS],
            loss_weights(l, loss),
            loss->reduction == ONS_LOSS_EACH ? (float *)l->outputs[0] : nullptr,
            terms,
            terms + loss->classes.view.outer * loss->classes.view.inner};
}

/* One block. */
[[maybe_unused]] static __global__ void reduce_losses(const double *terms, const double *counted, int64_t count,
                                                      bool mean, float *result) {
    double sum = ordered_sum(terms, count), weight = mean ? ordered_sum(counted, count) : 1;
    if (threadIdx.x == 0) *result = (float)(sum / weight);
}

inline void check_labels(const ons_launch *l) {
    const ons_model_loss *loss = (const ons_model_loss *)l->state;
    launch_check_classes(l, loss->classes, l->inputs[ONS_MODEL_LOSS_LABELS]);
}

inline void finish_losses(const ons_launch *l, const target_losses &losses) {
    const ons_model_loss *loss = (const ons_model_loss *)l->state;
    if (loss->reduction != ONS_LOSS_EACH)
        launch(l, reduce_losses, 1, ROW_THREADS, (const double *)losses.terms, (const double *)losses.counted,
               loss->classes.view.outer * loss->classes.view.inner, loss->reduction == ONS_LOSS_MEAN,
               (float *)l->outputs[0]);
}

/* ---- gradients */

/* What a target's slope is multiplied with. */
struct loss_scale {
    const float *cotangent, *weights;
    const double *total; /* of the weights, for a mean; or nullptr */
    bool each;           /* a cotangent for every target */
    __device__ float at(int64_t i, int64_t target) const {
        float weight = weights == nullptr ? 1 : weights[target], share = cotangent[each ? i : 0];
        return weight * (total == nullptr ? share : (float)((double)share / *total));
    }
};

/* One block. */
[[maybe_unused]] static __global__ void count_weights(ons_class_loss classes, const void *labels, const float *weights,
                                                      double *total) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < classes.view.outer * classes.view.inner; i += ROW_THREADS) {
        int64_t target = class_at(classes, labels, i);
        sum += target < 0 ? 0 : weights == nullptr ? 1 : (double)weights[target];
    }
    sum = block_reduce<ROW_THREADS>(sum, 0.0, add());
    if (threadIdx.x == 0) *total = sum;
}

inline loss_scale loss_scale_of(const ons_launch *l, uint32_t cotangent) {
    const ons_model_loss *loss = (const ons_model_loss *)l->state;
    loss_scale scale = {(const float *)l->inputs[cotangent], loss_weights(l, loss), nullptr,
                        loss->reduction == ONS_LOSS_EACH};
    if (loss->reduction != ONS_LOSS_MEAN) return scale;
    launch(l, count_weights, 1, ROW_THREADS, loss->classes, l->inputs[ONS_MODEL_LOSS_LABELS], scale.weights,
           (double *)l->scratch);
    scale.total = (const double *)l->scratch;
    return scale;
}

/* By what the probabilities of every row are multiplied: see kernels/common/math/far.h. */
struct loss_shares {
    ons_axis_view view;
    const float *x, *log_sums;
    float *shares;
    __device__ void operator()(int64_t row) const {
        float sum = 0;
        bool is_far = ons_is_far(log_sums[row]);
        for (int64_t k = 0; is_far && k < view.length; ++k)
            sum += expf(x[row_start(view, row) + k * view.inner] - log_sums[row]);
        shares[row] = is_far ? 1 / sum : 1.0f;
    }
};

/* dx = (e^(x - log_sum) - [class is the label]) × scale, or without log_sum the second part alone; dx may be x. */
struct loss_slopes {
    ons_class_loss classes;
    const void *labels;
    loss_scale scale;
    const float *x, *log_sums;
    const float *shares; /* of every row */
    float *dx;
    __device__ void operator()(int64_t i) const {
        const ons_axis_view &view = classes.view;
        int64_t rest = i / view.inner, outer = rest / view.length, row = outer * view.inner + (i - rest * view.inner);
        int64_t target = class_at(classes, labels, row);
        bool hit = target == rest - outer * view.length;
        float slope = (log_sums == nullptr ? 0 : expf(x[i] - log_sums[row]) * shares[row]) - (hit ? 1.0f : 0.0f);
        dx[i] = target < 0 || (log_sums == nullptr && !hit) ? 0 : slope * scale.at(row, target);
    }
};

inline void model_loss_gradient(const ons_launch *l, const float *log_sums, uint32_t cotangent) {
    const ons_class_loss &classes = ((const ons_model_loss *)l->state)->classes;
    float *shares = (float *)((double *)l->scratch + 1); /* behind the weights' total */
    if (log_sums != nullptr)
        each(l, classes.view.outer * classes.view.inner,
             loss_shares{classes.view, (const float *)l->inputs[0], log_sums, shares});
    loss_slopes f = {classes,
                     l->inputs[ONS_MODEL_LOSS_LABELS],
                     loss_scale_of(l, cotangent),
                     (const float *)l->inputs[0],
                     log_sums,
                     shares,
                     (float *)l->outputs[0]};
    each(l, classes.view.outer * classes.view.length * classes.view.inner, f);
}

} // namespace ons

#endif
