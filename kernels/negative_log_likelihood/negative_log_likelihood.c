/* Negative log likelihood of log probabilities: -Σ x[target] ÷ counted targets. */
#include "kernels/common/class_loss.h"
#include "kernels/common/cuda_rows.h"

static void negative_log_likelihood_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                              void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0];
    double sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[1], i);
        if (class >= 0) sum -= x[(i / inner * length + class) * inner + i % inner];
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

/* One element a target: not worth a thread. */
static void negative_log_likelihood_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *x = launch->inputs[0];
    const void *targets = launch->inputs[1];
    int64_t length = loss->view.length, inner = loss->view.inner;
    double sum = 0;
    ons_class_loss_check(loss, targets, launch->fault);
    for (int64_t i = 0; i < loss->view.outer * inner; ++i) {
        int64_t class = ons_class_at(loss, targets, i);
        if (class >= 0) sum -= (double)x[(i / inner * length + class) * inner + i % inner];
    }
    *(float *)launch->outputs[0] = (float)(sum / launch->step->counted_targets);
}

static ons_cost negative_log_likelihood_cost(const ons_operands *o) {
    double targets = (double)ons_elements(&o->inputs[1]);
    return (ons_cost){targets, 12 * targets};
}

static ons_status *negative_log_likelihood_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_negative_log_likelihood_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

static const ons_case negative_log_likelihood_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32_IN(-4, 0, 5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "int32",
     .inputs = {ONS_F32_IN(-4, 0, 5, 7), ONS_RANDOM(ONS_INT32, 0, 6, 5)},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -4, 0, 5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .tolerance = 1e-14,
     .flops = 5},
    {.name = "ignored",
     .inputs = {ONS_F32_IN(-4, 0, 6, 7),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}}},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "pixels",
     .inputs = {ONS_F32_IN(-4, 0, 2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29)},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "axis_from_end",
     .inputs = {ONS_F32_IN(-4, 0, 2, 3, 9), ONS_RANDOM(ONS_INT64, 0, 8, 2, 3)},
     .settings = {ONS_SET_INT("axis", -1)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "large",
     .inputs = {ONS_F32_IN(-12, 0, 4096, 1000), ONS_RANDOM(ONS_INT64, 0, 999, 4096)},
     .tolerance = 1e-6,
     .flops = 4096,
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(negative_log_likelihood, "NegativeLogLikelihood", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_CLASS_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_infer), ONS_COST(negative_log_likelihood_cost),
                    ONS_GRADIENT_RULE(negative_log_likelihood_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0),
                    ONS_ROLES(ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_reference),
                    ONS_CPU_KERNEL(ons_class_loss_prepare, negative_log_likelihood_run),
                    ONS_CUDA_KERNEL(ons_cuda_class_loss_prepare, ons_cuda_negative_log_likelihood),
                    negative_log_likelihood_cases);
