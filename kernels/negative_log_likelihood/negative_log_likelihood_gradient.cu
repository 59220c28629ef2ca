#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/losses/cuda_class_loss.cuh"

namespace {

/* Minus the share of a target at its class, 0 elsewhere. */
struct target_slope {
    ons_class_loss loss;
    const void *targets;
    const float *weights;
    const float *cotangent;
    const ons_step *step;
    float *dx;
    __device__ void operator()(int64_t i) const {
        int64_t rest = i / loss.view.inner, outer = rest / loss.view.length;
        int64_t target = ons::class_at(loss, targets, outer * loss.view.inner + (i - rest * loss.view.inner));
        bool hit = target == rest - outer * loss.view.length;
        dx[i] = hit ? -(float)(*cotangent / step->counted_targets) * ons_class_weight(weights, target) : 0.0f;
    }
};

} // namespace

extern "C" void ons_cuda_run_negative_log_likelihood_gradient(const ons_launch *launch) {
    const ons_class_loss *loss = (const ons_class_loss *)launch->state;
    target_slope f = {*loss,
                      launch->inputs[1],
                      ons::class_weights(launch, *loss),
                      (const float *)launch->inputs[2],
                      launch->device_step,
                      (float *)launch->outputs[0]};
    ons::each(launch, loss->view.outer * loss->view.length * loss->view.inner, f);
}

ONS_KERNELS(cuda, negative_log_likelihood_gradient,
            ONS_KERNEL(ons_class_loss_prepare, ons_cuda_run_negative_log_likelihood_gradient))
