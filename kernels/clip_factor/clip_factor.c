/* The norm over all gradients from their square sums, and by what the gradients are multiplied so that it stays below
 * max_norm: min(1, max_norm / (norm + 1e-6)) as in torch's clip_grad_norm_; 1 where max_norm is 0. A norm that is not a
 * number gives such a factor. */
#include <math.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/kernel.h"

static ons_status *clip_factor_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT64 || ons_elements(&o->inputs[i]) != 1)
            return ons_node_error(o, "input %u must be a float64 number, not %s", i,
                                  ons_type_print(&o->inputs[i], text));
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = ons_type_make(ONS_FLOAT32, (ons_shape){0});
    return NULL;
}

static double factor_of(double norm, double max_norm) {
    double factor = max_norm / (norm + 1e-6);
    return max_norm <= 0 || factor > 1 ? 1 : factor;
}

static ons_cost clip_factor_cost(const ons_operands *o) {
    return (ons_cost){(double)o->input_count, ons_operand_bytes(o)};
}

static void clip_factor_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)step;
    double sum = 0;
    for (uint32_t i = 0; i < o->input_count; ++i) sum += *(const double *)inputs[i];
    if (outputs[0] != NULL) *(double *)outputs[0] = sqrt(sum);
    if (outputs[1] != NULL) *(double *)outputs[1] = factor_of(sqrt(sum), ons_attribute_float(o, 0));
}

typedef struct clip_factor_state {
    uint32_t count;
    double max_norm;
} clip_factor_state;

static ons_status *clip_factor_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(clip_factor_state), &memory));
    clip_factor_state *state = memory;
    *state = (clip_factor_state){p->operands->input_count, ons_attribute_float(p->operands, 0)};
    return NULL;
}

static void clip_factor_run(const ons_launch *launch) {
    const clip_factor_state *state = launch->state;
    double sum = 0;
    for (uint32_t i = 0; i < state->count; ++i) sum += *(const double *)launch->inputs[i];
    if (launch->outputs[0] != NULL) *(float *)launch->outputs[0] = (float)sqrt(sum);
    if (launch->outputs[1] != NULL) *(float *)launch->outputs[1] = (float)factor_of(sqrt(sum), state->max_norm);
}

static ons_status *clip_factor_cuda_prepare(ons_prepare *p) {
    ons_cuda_elementwise *state;
    ONS_NEW(state, p->arena, 1);
    state->input_count = p->operands->input_count;
    state->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    p->state = state;
    p->scratch_bytes = 64; /* the sum so far */
    return NULL;
}

static const ons_case clip_factor_cases[] = {
    {.name = "below",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, 0, 1), ONS_RANDOM(ONS_FLOAT64, 0, 1)},
     .settings = {ONS_SET_FLOAT("max_norm", 10)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 2},
    {.name = "above",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4), ONS_RANDOM(ONS_FLOAT64, 1, 4), ONS_RANDOM(ONS_FLOAT64, 1, 4)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "no_limit", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4)}, .outputs = 2, .tolerance = 1e-6, .flops = 1},
    {.name = "norm_alone", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4)}, .tolerance = 1e-6, .flops = 1},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(clip_factor, "ClipFactor", ONS_INTERNAL, ONS_ARITY(1, ONS_VARIADIC, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("max_norm", 0)), ONS_INFER(clip_factor_infer),
                    ONS_COST(clip_factor_cost), ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_CLIP_FACTOR, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(clip_factor_reference), ONS_CPU_KERNEL(clip_factor_prepare, clip_factor_run),
                    ONS_CUDA_KERNEL(clip_factor_cuda_prepare, ons_cuda_clip_factor), clip_factor_cases);
