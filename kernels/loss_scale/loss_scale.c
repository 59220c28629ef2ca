/* Dynamic scaling of the loss, for gradients in float16: graph/passes/update.h says what goes in and comes out. */
#include "kernels/loss_scale/loss_scale.h"

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/kernel.h"

enum { SCALE_IN, COUNTS_IN, SQUARES_IN };
enum { SCALE, COUNTS, NORM, FACTOR, USED, RESULTS };
enum { MAX_NORM, INTERVAL };

static ons_status *loss_scale_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    ons_type number = {.dtype = ONS_FLOAT32}, two = {.dtype = ONS_FLOAT32, .shape = {1, {2}}};
    if (!ons_type_equal(&o->inputs[SCALE_IN], &number))
        return ons_node_error(o, "the scale must be a float32 number, not %s",
                              ons_type_print(&o->inputs[SCALE_IN], text));
    if (!ons_type_equal(&o->inputs[COUNTS_IN], &two))
        return ons_node_error(o, "the counts must be float32[2], not %s", ons_type_print(&o->inputs[COUNTS_IN], text));
    for (uint32_t i = SQUARES_IN; i < o->input_count; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT64 || ons_elements(&o->inputs[i]) != 1)
            return ons_node_error(o, "input %u must be a float64 number, not %s", i,
                                  ons_type_print(&o->inputs[i], text));
    for (uint32_t i = 0; i < RESULTS && i < o->output_count; ++i)
        o->outputs[i] = i == COUNTS || i == FACTOR ? two : number;
    return NULL;
}

static ons_cost loss_scale_cost(const ons_operands *o) {
    return (ons_cost){(double)o->input_count, ons_operand_bytes(o)};
}

static void loss_scale_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    (void)step;
    const double *counts = inputs[COUNTS_IN];
    double scale = *(const double *)inputs[SCALE_IN], sum = 0, skipped = counts[1];
    for (uint32_t i = SQUARES_IN; i < o->input_count; ++i) sum += *(const double *)inputs[i];
    ons_loss_scaling how = {ons_attribute_float(o, MAX_NORM), ons_attribute_float(o, INTERVAL)};
    ons_scaled_step r = ons_scale_step(how, scale, counts[0], skipped, sum);
    const double results[RESULTS][2] = {{r.scale}, {r.good, r.skipped}, {r.norm}, {r.factor, skipped}, {scale}};
    for (uint32_t i = 0; i < o->output_count; ++i)
        for (int64_t k = 0; outputs[i] != NULL && k < ons_elements(&o->outputs[i]); ++k)
            ((double *)outputs[i])[k] = results[i][k];
}

typedef struct loss_scale_state {
    uint32_t inputs;
    ons_loss_scaling how;
} loss_scale_state;

static ons_status *loss_scale_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(loss_scale_state), &memory));
    loss_scale_state *state = memory;
    *state = (loss_scale_state){
        p->operands->input_count,
        {ons_attribute_float(p->operands, MAX_NORM), ons_attribute_float(p->operands, INTERVAL)},
    };
    return NULL;
}

static void loss_scale_run(const ons_launch *launch) {
    const loss_scale_state *state = launch->state;
    const float *counts = launch->inputs[COUNTS_IN];
    float scale = *(const float *)launch->inputs[SCALE_IN], skipped = counts[1];
    double sum = 0;
    for (uint32_t i = SQUARES_IN; i < state->inputs; ++i) sum += *(const double *)launch->inputs[i];
    ons_scaled_step r = ons_scale_step(state->how, scale, counts[0], skipped, sum);
    float *const *outputs = (float *const *)launch->outputs;
    *outputs[SCALE] = (float)r.scale;
    outputs[COUNTS][0] = (float)r.good, outputs[COUNTS][1] = (float)r.skipped;
    if (outputs[NORM] != NULL) *outputs[NORM] = (float)r.norm;
    if (outputs[FACTOR] != NULL) outputs[FACTOR][0] = (float)r.factor, outputs[FACTOR][1] = skipped;
    if (outputs[USED] != NULL) *outputs[USED] = scale;
}

static ons_status *loss_scale_cuda_prepare(ons_prepare *p) {
    ons_cuda_elementwise *state;
    ONS_NEW(state, p->arena, 1);
    state->input_count = p->operands->input_count;
    state->parameters[0] = (float)ons_attribute_float(p->operands, MAX_NORM);
    state->parameters[1] = (float)ons_attribute_float(p->operands, INTERVAL);
    p->state = state;
    p->scratch_bytes = 64; /* the sum so far */
    return NULL;
}

#define SCALED(VALUE) ONS_F32_SCALAR(VALUE)
#define COUNTED(GOOD, BAD)                                                                                             \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(2), .value_count = 2, .values = {(GOOD), (BAD) }                       \
    }
#define SQUARE(VALUE)                                                                                                  \
    {                                                                                                                  \
        .dtype = ONS_FLOAT64, .value_count = 1, .values = {(VALUE) }                                                   \
    }
static const ons_case loss_scale_cases[] = {
    {.name = "finite",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(65536), SQUARE(32768), SQUARE(4)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "clipped",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(0x1p40), SQUARE(0x1p41)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "grows",
     .inputs = {SCALED(4), COUNTED(1, 0), SQUARE(9)},
     .settings = {ONS_SET_FLOAT("interval", 2)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "usual_interval",
     .inputs = {SCALED(4), COUNTED(1999, 0), SQUARE(9)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "growth_ends",
     .inputs = {SCALED(0x1p100), COUNTED(1999, 0), SQUARE(9)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "infinite",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(9), SQUARE(INFINITY)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "not_a_number",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(9), SQUARE(NAN)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "shrinking_ends",
     .inputs = {SCALED(0x1p-24), COUNTED(7, 3), SQUARE(INFINITY)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "no_counts", .inputs = {SCALED(4), SCALED(4), SQUARE(9)}, .outputs = RESULTS, .error = "counts"},
    {.name = "no_sum", .inputs = {SCALED(4), COUNTED(0, 0), ONS_F32(1)}, .outputs = RESULTS, .error = "float64"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(loss_scale, "LossScale", ONS_INTERNAL, ONS_ARITY(3, ONS_VARIADIC, RESULTS, RESULTS),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("max_norm", 0), ONS_FLOAT_ATTRIBUTE("interval", 2000)),
                    ONS_INFER(loss_scale_infer), ONS_COST(loss_scale_cost),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_LOSS_SCALE, 0, 0),
                    ONS_ALIASES({ONS_ALIAS_STATE, SCALE, SCALE_IN}, {ONS_ALIAS_STATE, COUNTS, COUNTS_IN}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(loss_scale_reference),
                    ONS_CPU_KERNEL(loss_scale_prepare, loss_scale_run),
                    ONS_CUDA_KERNEL(loss_scale_cuda_prepare, ons_cuda_loss_scale), loss_scale_cases);
