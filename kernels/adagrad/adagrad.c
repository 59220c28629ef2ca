/* Adagrad: g += decay p; s += g²; p -= lr g / (√s + eps). */
#include "kernels/common/optimizer.h"

enum { EPSILON, WEIGHT_DECAY };

static void adagrad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1], *sum = inputs[3];
    double *new_parameter = outputs[0], *new_sum = outputs[1], decay = ons_attribute_float(o, WEIGHT_DECAY);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        new_sum[i] = sum[i] + g * g;
        new_parameter[i] =
            parameter[i] - step->learning_rate * g / (sqrt(new_sum[i]) + ons_attribute_float(o, EPSILON));
    }
}

static void adagrad_run(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *sum = launch->inputs[3];
    float *new_parameter = launch->outputs[0], *new_sum = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), decay = (float)state->numbers[WEIGHT_DECAY];
    float epsilon = (float)state->numbers[EPSILON], rate = launch->step->learning_rate;
    int64_t n = state->elements;
    if (ons_optimizer_skips(launch)) return;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + decay * parameter[i];
        float s = sum[i] + g * g;
        new_sum[i] = s;
        new_parameter[i] = parameter[i] - rate * g / (sqrtf(s) + epsilon);
    }
}

/* Factor and decay 3, sum 2, root 2, quotient and step 3. */
static ons_cost adagrad_cost(const ons_operands *o) { return ons_optimizer_cost(o, 10); }

static const ons_case adagrad_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 5, 7)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 350},
    {.name = "factor",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32_IN(0.01, 1, 37)},
     .settings = {ONS_SET_FLOAT("eps", 1e-3), ONS_SET_FLOAT("weight_decay", 0.1)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 370},
    {.name = "rank0",
     .inputs = {ONS_F32(), ONS_F32(), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 10},
    {.name = "threads",
     .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 9, 5003)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 450270},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 2048, 2048)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 41943040,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(adagrad, "Adagrad", ONS_INTERNAL, ONS_ARITY(2, 4, 2, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("eps", 1e-10), ONS_FLOAT_ATTRIBUTE("weight_decay", 0)),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(adagrad_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_ADAGRAD, 0, 0), ONS_UPDATES_ONE_STATE, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(adagrad_reference), ONS_CPU_KERNEL(ons_optimizer_prepare, adagrad_run),
                    ONS_CUDA_KERNEL_OF_SEVERAL(ons_optimizer_prepare, ons_cuda_adagrad, ons_cuda_several_adagrad),
                    adagrad_cases);
