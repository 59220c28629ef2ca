/* Gradient of NegativeLogLikelihoodLoss: from scores (their shape alone), labels, the loss's cotangent and
 * weights, minus what the target counts at its label and 0 elsewhere. */
#include <string.h>

#include "kernels/common/cuda_rows.h"
#include "kernels/common/model_loss.h"

enum { COTANGENT = ONS_MODEL_LOSS_OTHERS };

static ons_status *negative_log_likelihood_loss_gradient_infer(ons_operands *o) {
    return ons_model_loss_gradient_infer(o, COTANGENT);
}

static double slope_of(double score, double saved, bool is_label) {
    (void)score;
    (void)saved;
    return is_label ? -1 : 0;
}

static void negative_log_likelihood_loss_gradient_reference(const ons_operands *o, const ons_step *step,
                                                            const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_model_loss_gradient_reference(o, inputs, COTANGENT, NULL, outputs[0], slope_of);
}

static void negative_log_likelihood_loss_gradient_run(const ons_launch *launch) {
    const ons_model_loss *loss = launch->state;
    const ons_axis_view *view = &loss->classes.view;
    const void *labels = launch->inputs[ONS_MODEL_LOSS_LABELS];
    ons_loss_scale scale = ons_model_loss_scale(launch, COTANGENT);
    float *dx = launch->outputs[0];
    int64_t size = view->length * view->inner;
#pragma omp parallel for schedule(static) if (view->outer * size > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < view->outer; ++i) {
        memset(dx + i * size, 0, (size_t)size * sizeof *dx);
        for (int64_t c = 0; c < view->inner; ++c) {
            int64_t target = i * view->inner + c, class = ons_class_at(&loss->classes, labels, target);
            if (class >= 0) dx[i * size + class * view->inner + c] = -ons_loss_scale_at(&scale, target, class);
        }
    }
}

static ons_cost negative_log_likelihood_loss_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[1]),
                      (double)(ons_type_dense_bytes(&o->outputs[0]) + ons_type_dense_bytes(&o->inputs[1]))};
}

#define LABELS(LAST, ...) ONS_RANDOM(ONS_INT64, 0, LAST, __VA_ARGS__)
static const ons_case negative_log_likelihood_loss_gradient_cases[] = {
    {.name = "mean", .inputs = {ONS_F32(5, 7), LABELS(6, 5), ONS_F32()}, .tolerance = 1e-6, .flops = 5},
    {.name = "weights",
     .inputs = {ONS_F32(6, 7),
                {.dtype = ONS_INT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}},
                ONS_F32(),
                ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_INT("ignore_index", -100)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "none",
     .inputs = {ONS_F32(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32(2, 3, 29), ONS_F32_IN(0.2, 2, 5)},
     .settings = {ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "sum",
     .inputs = {ONS_F32(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32()},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "large",
     .inputs = {ONS_F32(4096, 1000), LABELS(999, 4096), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 4096,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(negative_log_likelihood_loss_gradient, "NegativeLogLikelihoodLossGradient", ONS_INTERNAL,
                    ONS_ARITY(3, 4, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES,
                    ONS_INFER(negative_log_likelihood_loss_gradient_infer),
                    ONS_COST(negative_log_likelihood_loss_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_loss_gradient_reference),
                    ONS_CPU_KERNEL(ons_model_loss_prepare, negative_log_likelihood_loss_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_negative_log_likelihood_loss_gradient),
                    negative_log_likelihood_loss_gradient_cases);
