/* DropoutTraining on the CPU. */
#include "kernels/dropout_training/dropout_training.h"

#include "kernels/common/operator/checks.h"
#include "kernels/random/dropout.h"

ons_status *ons_dropout_training_make_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_dropout_state *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_dropout_state){.elements = ons_elements(&o->inputs[0]),
                                 .node_key = p->node_key,
                                 .seed = o->attributes[SEED],
                                 .ratio = ons_attribute_float(o, RATIO),
                                 .has_mask = ons_has_output(o, 1),
                                 .dtype = o->inputs[0].dtype,
                                 .first_element = ons_random_first_element(o),
                                 .unit_elements = ons_random_unit_elements(o)};
    p->implementation = "philox";
    return NULL;
}

static ons_status *dropout_training_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_FLOAT32 ? ons_dropout_training_make_state(p) : ons_refuse_dtype(p->operands, dtype);
}

/* `masks` NULL: nobody reads them. */
static void run_unit(const ons_dropout_state *state, const ons_step *step, const float *x, float *y, uint8_t *masks,
                     int64_t elements) {
    float scale = (float)ons_dropout_scale(state->ratio);
    ons_dropout_key key = ons_dropout_key_of(step, state->node_key, &state->seed, state->ratio);
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += ONS_DROPOUT_BLOCK) {
        int64_t count = elements - begin < ONS_DROPOUT_BLOCK ? elements - begin : ONS_DROPOUT_BLOCK;
        uint8_t drawn[ONS_DROPOUT_BLOCK];
        uint8_t *mask = masks == NULL ? drawn : masks + begin;
        ons_dropout_mask(&key, state->first_element + begin, count, mask);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) y[begin + i] = mask[i] != 0 ? x[begin + i] * scale : 0.0f;
    }
}

static void dropout_training_run(const ons_launch *launch) {
    const ons_dropout_state *state = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    uint8_t *masks = state->has_mask ? launch->outputs[1] : NULL;
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(launch->step, state->elements, state->unit_elements, &unit))
        run_unit(state, &unit.step, x + unit.begin, y + unit.begin, masks == NULL ? NULL : masks + unit.begin,
                 unit.count);
}

ONS_KERNELS(cpu, dropout_training, ONS_KERNEL(dropout_training_prepare, dropout_training_run))
