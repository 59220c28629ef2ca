#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/losses/cuda_class_loss.cuh"

namespace {

struct target_term {
    ons_class_loss loss;
    const float *x;
    const void *targets;
    const float *weights;
    double *terms;
    __device__ void operator()(int64_t i) const {
        int64_t target = ons::class_at(loss, targets, i);
        if (target < 0) {
            terms[i] = 0;
            return;
        }
        double weight = ons_class_weight(weights, target);
        terms[i] = -weight * (double)x[ons::row_start(loss.view, i) + target * loss.view.inner];
    }
};

} // namespace

extern "C" void ons_cuda_run_negative_log_likelihood(const ons_launch *launch) {
    const ons_class_loss *loss = (const ons_class_loss *)launch->state;
    int64_t rows = loss->view.outer * loss->view.inner;
    double *terms = (double *)launch->scratch;
    ons::launch_check_classes(launch, *loss, launch->inputs[1]);
    ons::each(launch, rows,
              target_term{*loss, (const float *)launch->inputs[0], launch->inputs[1], ons::class_weights(launch, *loss),
                          terms});
    ons::launch(launch, ons::mean_of_terms, 1, ons::ROW_THREADS, (const double *)terms, rows, launch->device_step,
                (float *)launch->outputs[0]);
}

ONS_KERNELS(cuda, negative_log_likelihood,
            ONS_KERNEL(ons_cuda_class_loss_prepare, ons_cuda_run_negative_log_likelihood))
