/* Gradient of negative log likelihood: from prediction (its shape alone), target and the loss's cotangent, -cotangent ÷
 * counted targets at the targets and 0 elsewhere. */
#include <string.h>

#include "kernels/common/class_loss.h"

static void negative_log_likelihood_gradient_reference(const ons_operands *o, const ons_step *step,
                                                       const void *const *inputs, void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    double *dx = outputs[0], scale = *(const double *)inputs[2] / step->counted_targets;
    for (int64_t i = 0; i < ons_elements(&o->outputs[0]); ++i) dx[i] = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[1], i);
        if (class >= 0) dx[(i / inner * length + class) * inner + i % inner] = -scale;
    }
}

static void negative_log_likelihood_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const void *targets = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = (float)(*(const float *)launch->inputs[2] / launch->step->counted_targets);
    int64_t outer = loss->view.outer, length = loss->view.length, inner = loss->view.inner, size = length * inner;
#pragma omp parallel for schedule(static) if (outer * size > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < outer; ++i) {
        memset(dx + i * size, 0, (size_t)size * sizeof *dx);
        for (int64_t c = 0; c < inner; ++c) {
            int64_t class = ons_class_at(loss, targets, i * inner + c);
            if (class >= 0) dx[i * size + class * inner + c] = -scale;
        }
    }
}

static ons_cost negative_log_likelihood_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[1]),
                      (double)(ons_type_dense_bytes(&o->outputs[0]) + ons_type_dense_bytes(&o->inputs[1]))};
}

static const ons_case negative_log_likelihood_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "ignored",
     .inputs = {ONS_F32(6, 7),
                {.dtype = ONS_INT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}},
                ONS_F32()},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "large",
     .inputs = {ONS_F32(4096, 1000), ONS_RANDOM(ONS_INT64, 0, 999, 4096), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 4096,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(negative_log_likelihood_gradient, "NegativeLogLikelihoodGradient", ONS_INTERNAL,
                    ONS_ARITY(3, 3, 1, 1), ONS_CLASS_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(negative_log_likelihood_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(negative_log_likelihood_gradient_reference),
                    ONS_CPU_KERNEL(ons_class_loss_prepare, negative_log_likelihood_gradient_run),
                    ONS_CUDA_KERNEL(ons_class_loss_prepare, ons_cuda_negative_log_likelihood_gradient),
                    negative_log_likelihood_gradient_cases);
