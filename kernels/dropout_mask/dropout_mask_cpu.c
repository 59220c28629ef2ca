/* DropoutMask on the CPU. */
#include "kernels/dropout_mask/dropout_mask.h"

#include "kernels/random/dropout.h"

ons_status *ons_dropout_mask_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_dropout_state *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_dropout_state){.elements = ons_elements(&o->outputs[0]),
                                 .node_key = p->node_key,
                                 .seed = o->attributes[SEED],
                                 .ratio = ons_attribute_float(o, RATIO),
                                 .first_element = ons_random_first_element(o),
                                 .unit_elements = ons_random_unit_elements(o)};
    return NULL;
}

static void draw_unit(const ons_dropout_state *s, const ons_step *step, uint8_t *mask, int64_t elements) {
    ons_dropout_key key = ons_dropout_key_of(step, s->node_key, &s->seed, s->ratio);
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += ONS_DROPOUT_BLOCK)
        ons_dropout_mask(&key, s->first_element + begin,
                         elements - begin < ONS_DROPOUT_BLOCK ? elements - begin : ONS_DROPOUT_BLOCK, mask + begin);
}

static void dropout_mask_run(const ons_launch *launch) {
    const ons_dropout_state *s = launch->state;
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(launch->step, s->elements, s->unit_elements, &unit))
        draw_unit(s, &unit.step, (uint8_t *)launch->outputs[0] + unit.begin, unit.count);
}

ONS_KERNELS(cpu, dropout_mask, ONS_KERNEL(ons_dropout_mask_prepare, dropout_mask_run))
