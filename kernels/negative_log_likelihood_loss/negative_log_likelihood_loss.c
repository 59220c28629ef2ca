/* NegativeLogLikelihoodLoss: minus the score, a log probability, at the label, weighted and reduced. */
#include "kernels/common/cuda_rows.h"
#include "kernels/common/model_loss.h"
#include "kernels/common/rules.h"

static double loss_of(const ons_axis_view *view, const double *scores, int64_t class) {
    return -scores[class * view->inner];
}

static void negative_log_likelihood_loss_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    ons_model_loss_reference(o, step, inputs, outputs, loss_of);
}

static void take_target(ons_loss_part *part, int64_t i) {
    const ons_class_loss *classes = &part->loss->classes;
    int64_t class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
    const float *scores = part->launch->inputs[ONS_MODEL_LOSS_SCORES];
    if (class < 0)
        ons_loss_skip(part, i);
    else
        ons_loss_take(part, i, class, -scores[ons_loss_first(&classes->view, i) + class * classes->view.inner]);
}

static void take_part(ons_loss_part *part) {
    const ons_axis_view *view = &part->loss->classes.view;
    for (int64_t item = part->begin; item < part->end; ++item) {
        ons_column_block at = {0, item, 1};
        if (view->inner > 1) at = ons_column_block_at(view, item);
        for (int c = 0; c < at.width; ++c) take_target(part, at.column + c);
    }
}

static void negative_log_likelihood_loss_run(const ons_launch *launch) { ons_model_loss_run(launch, take_part); }

static ons_cost negative_log_likelihood_loss_cost(const ons_operands *o) {
    double targets = (double)ons_elements(&o->inputs[1]);
    return (ons_cost){targets, 12 * targets};
}

static ons_status *negative_log_likelihood_loss_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_make_like(g, &ons_op_negative_log_likelihood_loss_gradient,
                      ONS_IN(ons_gradient_input(g, ONS_MODEL_LOSS_SCORES), ons_gradient_input(g, ONS_MODEL_LOSS_LABELS),
                             g->cotangents[0], ons_gradient_input(g, ONS_MODEL_LOSS_OTHERS)));
    return NULL;
}

#define LOGS(...)         ONS_F32_IN(-4, 0, __VA_ARGS__)
#define LABELS(LAST, ...) ONS_RANDOM(ONS_INT64, 0, LAST, __VA_ARGS__)
static const ons_case negative_log_likelihood_loss_cases[] = {
    {.name = "mean", .inputs = {LOGS(5, 7), LABELS(6, 5)}, .tolerance = 1e-6, .flops = 5},
    {.name = "sum",
     .inputs = {LOGS(5, 7), ONS_RANDOM(ONS_INT32, 0, 6, 5), ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "none",
     .inputs = {LOGS(5, 7), LABELS(6, 5), ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_STRING("reduction", "none"), ONS_SET_INT("ignore_index", 2)},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "weights", .inputs = {LOGS(6, 7), LABELS(6, 6), ONS_F32_IN(0.2, 2, 7)}, .tolerance = 1e-6, .flops = 6},
    {.name = "ignored",
     .inputs = {LOGS(6, 7), {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}}},
     .settings = {ONS_SET_INT("ignore_index", -100)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "pixels",
     .inputs = {LOGS(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32_IN(0.2, 2, 5)},
     .settings = {ONS_SET_INT("ignore_index", 3)},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "pixels_none",
     .inputs = {LOGS(2, 5, 3, 29), LABELS(4, 2, 3, 29)},
     .settings = {ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "vector", .inputs = {LOGS(7), LABELS(6)}, .error = "axis"},
    {.name = "reduction",
     .inputs = {LOGS(5, 7), LABELS(6, 5)},
     .settings = {ONS_SET_STRING("reduction", "max")},
     .error = "reduction"},
    {.name = "large",
     .inputs = {ONS_F32_IN(-12, 0, 4096, 1000), LABELS(999, 4096)},
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

/* Weights are a setting of the loss, as in PyTorch: a gradient to them would only teach the model to count less. */
ONS_DEFINE_OPERATOR(negative_log_likelihood_loss, "NegativeLogLikelihoodLoss", ONS_ONNX(12, ONS_NEWEST),
                    ONS_ARITY(2, 3, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES, ONS_INFER(ons_model_loss_infer),
                    ONS_COST(negative_log_likelihood_loss_cost),
                    ONS_GRADIENT_RULE(negative_log_likelihood_loss_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), 0), ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_loss_reference),
                    ONS_CPU_KERNEL(ons_model_loss_prepare, negative_log_likelihood_loss_run),
                    ONS_CUDA_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_negative_log_likelihood_loss),
                    negative_log_likelihood_loss_cases);
