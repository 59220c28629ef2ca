/* What the optimisers share: operands (parameter, gradient, factor, states …, half) → (new parameter, new states …, new
 * half), see graph/passes/update.h. Formulas and the order of operations are those of torch.optim on one tensor; the
 * bias corrections are computed in double. */
#ifndef ONSTAGE_KERNELS_OPTIMIZERS_OPTIMIZER_H
#define ONSTAGE_KERNELS_OPTIMIZERS_OPTIMIZER_H

#include <math.h>

#include "base/host_device.h"
#include "graph/passes/update.h"
#include "kernels/common/operator/kernel.h"

/* Inputs by position. */
enum { ONS_PARAMETER_IN, ONS_GRADIENT_IN, ONS_FACTOR_IN, ONS_STATE_IN };

/* Every result takes the place of what it replaces. */
#define ONS_UPDATES_ONE_STATE                                                                                          \
    ONS_ALIASES({ONS_ALIAS_STATE, 0, ONS_PARAMETER_IN}, {ONS_ALIAS_STATE, 1, ONS_STATE_IN},                            \
                {ONS_ALIAS_STATE, 2, ONS_STATE_IN + 1})
#define ONS_UPDATES_TWO_STATES                                                                                         \
    ONS_ALIASES({ONS_ALIAS_STATE, 0, ONS_PARAMETER_IN}, {ONS_ALIAS_STATE, 1, ONS_STATE_IN},                            \
                {ONS_ALIAS_STATE, 2, ONS_STATE_IN + 1}, {ONS_ALIAS_STATE, 3, ONS_STATE_IN + 2})

/* Gradient and states must be like the parameter, but the gradient of a float32 one may be of a half type. Of states
 * that may not be left out there is one less than the least number of outputs. */
ons_status *ons_optimizer_infer(ons_operands *o);

/* Every element of every operand once, but of the half parameter that comes in; `operations` an element. */
ons_cost ons_optimizer_cost(const ons_operands *o, int operations);

enum { ONS_OPTIMIZER_NUMBERS = 4 };
typedef struct ons_optimizer {
    ons_dtype gradient;
    ons_dtype half; /* of the parameter that is written in a half type, too; ONS_NO_DTYPE: none is */
    uint32_t half_output;
    int64_t elements;
    int states; /* how many come in */
    bool has_factor, counts_skipped;
    double numbers[ONS_OPTIMIZER_NUMBERS]; /* the attributes in order */
    bool has_rate;
    double rate; /* of this parameter, before the schedule; where has_rate */
} ons_optimizer;

/* The state is an ons_optimizer; of float32 alone. */
ons_status *ons_optimizer_prepare(ons_prepare *p);
/* ons_optimizer_prepare without a look at the operands' types. */
ons_status *ons_optimizer_prepare_any(ons_prepare *p);

/* The last attribute of every optimiser: the parameter's own learning rate. Left out: it has the step's. */
#define ONS_OWN_RATE_NAME      "learning_rate"
#define ONS_OWN_RATE_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_OWN_RATE_NAME, ONS_ATTRIBUTE_FLOAT)

/* The attribute, if the node has it. */
bool ons_optimizer_own_rate(const ons_operands *o, double *rate);

/* What the parameter moves by in this step. */
ONS_HOST_DEVICE static inline float ons_optimizer_rate(const ons_optimizer *optimizer, const ons_step *step) {
    return optimizer->has_rate ? (float)(optimizer->rate * step->rate_share) : step->learning_rate;
}

/* The learning rate of the step as references compute with it. */
static inline double ons_reference_rate(const ons_operands *o, const ons_step *step) {
    double rate;
    return ons_optimizer_own_rate(o, &rate) ? rate * step->rate_share : (double)step->learning_rate;
}

static inline double ons_optimizer_number(const ons_operands *o, uint32_t index) {
    return o->attributes[index].kind == ONS_ATTRIBUTE_INT ? (double)ons_attribute_int(o, index)
                                                          : ons_attribute_float(o, index);
}

/* By what the gradient is multiplied first. */
static inline float ons_optimizer_factor(const ons_launch *launch) {
    const ons_optimizer *optimizer = (const ons_optimizer *)launch->state;
    return optimizer->has_factor ? *(const float *)launch->inputs[ONS_FACTOR_IN] : 1.0f;
}

/* By what the gradient is multiplied first, of words, for references. */
static inline double ons_reference_factor(const ons_operands *o, const void *const *inputs) {
    return ons_has_input(o, ONS_FACTOR_IN) ? *(const double *)inputs[ONS_FACTOR_IN] : 1.0;
}

/* The new parameter, rounded, where the node writes that, too. */
void ons_optimizer_write_half(const ons_launch *launch);
void ons_reference_write_half(const ons_operands *o, void *const *outputs);

/* The factor < 0: nothing is updated. Every result then is what it replaces; true where there is nothing more to do. */
bool ons_optimizer_skips(const ons_launch *launch);
bool ons_reference_skips(const ons_operands *o, const void *const *inputs, void *const *outputs);

/* Steps before this one that did not update anything. */
static inline double ons_optimizer_skipped(const ons_launch *launch) {
    const ons_optimizer *optimizer = (const ons_optimizer *)launch->state;
    return optimizer->counts_skipped ? (double)((const float *)launch->inputs[ONS_FACTOR_IN])[1] : 0;
}

/* Adam's step: 1 ÷ √(1 - beta2^step), and the learning rate ÷ (1 - beta1^step). Steps that were skipped do not count.
 */
typedef struct ons_adam_rates {
    double root_correction, step_size;
} ons_adam_rates;

static inline ons_adam_rates ons_adam_rates_at(const ons_step *step, double rate, double skipped, double beta1,
                                               double beta2) {
    double count = (double)step->step - skipped;
    return (ons_adam_rates){1 / sqrt(1 - pow(beta2, count)), rate / (1 - pow(beta1, count))};
}

/* Attributes by position, of Adam and AdamW. */
enum { ONS_ADAM_BETA1, ONS_ADAM_BETA2, ONS_ADAM_EPSILON, ONS_ADAM_WEIGHT_DECAY };
#define ONS_ADAM_ATTRIBUTES(WEIGHT_DECAY)                                                                              \
    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("beta1", 0.9), ONS_FLOAT_ATTRIBUTE("beta2", 0.999),                             \
                   ONS_FLOAT_ATTRIBUTE("eps", 1e-8), ONS_FLOAT_ATTRIBUTE("weight_decay", (WEIGHT_DECAY)),              \
                   ONS_OWN_RATE_ATTRIBUTE)

/* Adam and AdamW differ in where weight decay goes: into the gradient, or (decoupled) straight off the parameter. */
void ons_adam_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs,
                        bool decoupled);
void ons_adam_run(const ons_launch *launch, bool decoupled);
ons_cost ons_adam_cost(const ons_operands *o);

#define ONS_ADAM_REFERENCE(SYMBOL, DECOUPLED)                                                                          \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_adam_reference(o, step, inputs, outputs, DECOUPLED);                                                       \
    }

#define ONS_ADAM_KERNEL(SYMBOL, DECOUPLED)                                                                             \
    static void SYMBOL##_run(const ons_launch *launch) { ons_adam_run(launch, DECOUPLED); }

/* clang-format off */
#define ONS_SCALED_FACTOR(FACTOR, SKIPPED)                                                                             \
    {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2), .value_count = 2, .values = {(FACTOR), (SKIPPED)}}
#define ONS_ADAM_OPERANDS(...)                                                                                         \
    {ONS_F32(__VA_ARGS__), ONS_F32(__VA_ARGS__), ONS_LEFT_OUT, ONS_F32(__VA_ARGS__), ONS_F32_IN(0.01, 1, __VA_ARGS__)}
#define ONS_ADAM_CASES                                                                                                 \
    {.name = "matrix", .inputs = ONS_ADAM_OPERANDS(5, 7), .outputs = 3, .tolerance = 2e-6, .flops = 595},              \
    {.name = "factor",                                                                                                 \
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32(37), ONS_F32_IN(0.01, 1, 37)},                   \
     .settings = {ONS_SET_FLOAT("weight_decay", 0.1)}, .outputs = 3, .tolerance = 2e-6, .flops = 629},                 \
    {.name = "scaled",                                                                                                 \
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_SCALED_FACTOR(0.25, 1), ONS_F32(37), ONS_F32_IN(0.01, 1, 37)},           \
     .outputs = 3, .tolerance = 2e-6, .flops = 629},                                                                   \
    {.name = "skipped",                                                                                                \
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_SCALED_FACTOR(-1, 1), ONS_F32(37), ONS_F32_IN(0.01, 1, 37)},             \
     .outputs = 3, .flops = 629},                                                                                      \
    {.name = "betas", .inputs = ONS_ADAM_OPERANDS(3, 4),                                                               \
     .settings = {ONS_SET_FLOAT("beta1", 0), ONS_SET_FLOAT("beta2", 0.9), ONS_SET_FLOAT("eps", 1e-3),                  \
                  ONS_SET_FLOAT("weight_decay", 0)},                                                                   \
     .outputs = 3, .tolerance = 2e-6, .flops = 204},                                                                   \
    {.name = "own_rate", .inputs = ONS_ADAM_OPERANDS(5, 7),                                                            \
     .settings = {ONS_SET_FLOAT("learning_rate", 0.3), ONS_SET_FLOAT("weight_decay", 0.1)},                            \
     .outputs = 3, .tolerance = 2e-6, .flops = 595},                                                                   \
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32(), ONS_LEFT_OUT, ONS_F32(), ONS_F32_IN(0.01, 1)}, .outputs = 3,    \
     .tolerance = 2e-6, .flops = 17},                                                                                  \
    {.name = "low_gradient",                                                                                           \
     .inputs = {ONS_F32(3, 5003), ONS_RANDOM(ONS_BFLOAT16, -9, 9, 3, 5003), ONS_F32_IN(0.1, 1), ONS_F32(3, 5003),      \
                ONS_F32_IN(0.01, 1, 3, 5003)},                                                                         \
     .outputs = 3, .tolerance = 4e-6, .flops = 255153},                                                                \
    {.name = "half",                                                                                                   \
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32(5, 7), ONS_F32_IN(0.01, 1, 5, 7),                  \
                ONS_RANDOM(ONS_BFLOAT16, -9, 9, 5, 7)},                                                                \
     .outputs = 4, .tolerance = 0x1p-7, .flops = 595},                                                                 \
    {.name = "half_low_gradient",                                                                                      \
     .inputs = {ONS_F32(3, 5003), ONS_RANDOM(ONS_FLOAT16, -9, 9, 3, 5003), ONS_F32_IN(0.1, 1), ONS_F32(3, 5003),       \
                ONS_F32_IN(0.01, 1, 3, 5003), ONS_RANDOM(ONS_FLOAT16, -9, 9, 3, 5003)},                                \
     .outputs = 4, .tolerance = 0x1p-10, .flops = 255153},                                                             \
    {.name = "half_skipped",                                                                                           \
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_SCALED_FACTOR(-1, 1), ONS_F32(37), ONS_F32_IN(0.01, 1, 37),              \
                ONS_RANDOM(ONS_FLOAT16, -9, 9, 37)},                                                                   \
     .outputs = 4, .flops = 629},                                                                                      \
    {.name = "half_of_float32", .inputs = {ONS_F32(3), ONS_F32(3), ONS_LEFT_OUT, ONS_F32(3), ONS_F32_IN(0.01, 1, 3),   \
                                           ONS_F32(3)}, .outputs = 4, .error = "half type"},                           \
    {.name = "no_state", .inputs = {ONS_F32(3), ONS_F32(3), ONS_LEFT_OUT, ONS_F32(3)}, .error = "state"},              \
    {.name = "threads", .inputs = ONS_ADAM_OPERANDS(9, 5003), .outputs = 3, .tolerance = 2e-6, .flops = 765459},       \
    {.name = "large",                                                                                                  \
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_F32_IN(0.1, 1), ONS_F32(2048, 2048),                     \
                ONS_F32_IN(0.01, 1, 2048, 2048)},                                                                      \
     .outputs = 3, .tolerance = 2e-6, .flops = 71303168, .benchmark = true}
/* clang-format on */

#endif
