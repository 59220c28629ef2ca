/* Stochastic gradient descent with momentum: g += decay p; b = momentum b + g; p -= lr (nesterov ? g + momentum b : b).
 * A momentum buffer of zeros gives torch's first step, b = g. */
#include "kernels/common/optimizer.h"

enum { MOMENTUM, WEIGHT_DECAY, NESTEROV };

static void sgd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1];
    const double *buffer = ons_has_input(o, ONS_STATE_IN) ? inputs[ONS_STATE_IN] : NULL;
    double *new_parameter = outputs[0];
    double momentum = ons_attribute_float(o, MOMENTUM), decay = ons_attribute_float(o, WEIGHT_DECAY);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        if (buffer != NULL) {
            double b = momentum * buffer[i] + g;
            ((double *)outputs[1])[i] = b;
            g = ons_attribute_int(o, NESTEROV) != 0 ? g + momentum * b : b;
        }
        new_parameter[i] = parameter[i] - step->learning_rate * g;
    }
}

static void run_plain(const ons_launch *launch, int64_t n, float decay) {
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1];
    float *new_parameter = launch->outputs[0];
    float factor = ons_optimizer_factor(launch), rate = launch->step->learning_rate;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i)
        new_parameter[i] = parameter[i] - rate * (gradient[i] * factor + decay * parameter[i]);
}

/* The step is straight × g + along × b: torch's (nesterov) 1, momentum or (plain) 0, 1. */
static void run_momentum(const ons_launch *launch, int64_t n, float decay, float momentum, float straight,
                         float along) {
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *buffer = launch->inputs[ONS_STATE_IN];
    float *new_parameter = launch->outputs[0], *new_buffer = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), rate = launch->step->learning_rate;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + decay * parameter[i];
        float b = buffer[i] * momentum + g;
        new_buffer[i] = b;
        new_parameter[i] = parameter[i] - rate * (straight * g + along * b);
    }
}

static void sgd_run(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    float decay = (float)state->numbers[WEIGHT_DECAY], momentum = (float)state->numbers[MOMENTUM];
    if (ons_optimizer_skips(launch)) return;
    if (state->states == 0)
        run_plain(launch, state->elements, decay);
    else if (state->numbers[NESTEROV] != 0)
        run_momentum(launch, state->elements, decay, momentum, 1, momentum);
    else
        run_momentum(launch, state->elements, decay, momentum, 0, 1);
}

/* Factor, decay and step 5; the buffer 2 and its share of the step 3. */
static ons_cost sgd_cost(const ons_operands *o) {
    return ons_optimizer_cost(o, ons_has_input(o, ONS_STATE_IN) ? 10 : 5);
}

static const ons_case sgd_cases[] = {
    {.name = "plain", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 175},
    {.name = "momentum",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9), ONS_SET_FLOAT("weight_decay", 0.1)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 350},
    {.name = "nesterov",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32(37)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9), ONS_SET_INT("nesterov", 1)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 370},
    {.name = "factor",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1)},
     .settings = {ONS_SET_FLOAT("weight_decay", 0.1)},
     .tolerance = 1e-6,
     .flops = 185},
    {.name = "skipped",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_SCALED_FACTOR(-1, 5), ONS_F32(37)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9), ONS_SET_FLOAT("weight_decay", 0.1)},
     .outputs = 2,
     .flops = 370},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 5},
    {.name = "threads",
     .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003), ONS_LEFT_OUT, ONS_F32(9, 5003)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 450270},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_LEFT_OUT, ONS_F32(2048, 2048)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 41943040,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sgd, "Sgd", ONS_INTERNAL, ONS_ARITY(2, 4, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("momentum", 0), ONS_FLOAT_ATTRIBUTE("weight_decay", 0),
                                   ONS_INT_ATTRIBUTE("nesterov", 0)),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(sgd_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_SGD, 0, 0), ONS_UPDATES_ONE_STATE, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(sgd_reference), ONS_CPU_KERNEL(ons_optimizer_prepare, sgd_run),
                    ONS_CUDA_KERNEL_OF_SEVERAL(ons_optimizer_prepare, ons_cuda_sgd, ons_cuda_several_sgd), sgd_cases);
