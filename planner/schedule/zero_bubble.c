#include "planner/schedule/writer.h"

/* ZB-H1 of "Zero Bubble Pipeline Parallelism" (Qi et al., 2023, section 2.3): the warm-up of 1F1B; then input
 * gradients, on which the stage before waits, come at once, and the weight gradients of stage s run s micro-batches
 * behind them. So every stage holds as many micro-batches as the first stage of 1F1B and no more, and what is left when
 * the last input gradient has been sent fills the time in which the stages before still work. */

static void put_weight_gradient(ons_action_list *list, const ons_pipeline *p, uint32_t stage, uint32_t micro_batch) {
    ons_schedule_put(list, ONS_ACTION_WEIGHT_GRADIENT, stage, micro_batch);
    if (micro_batch + 1 == p->micro_batches) ons_schedule_put(list, ONS_ACTION_UPDATE, stage, micro_batch);
}

static void put_stage(ons_action_list *list, const ons_pipeline *p, uint32_t stage) {
    uint32_t m = p->micro_batches, forward = 0, weight = 0;
    for (uint32_t input = 0; input < m; ++input) {
        while (forward < m && forward < input + p->stages - stage)
            ons_schedule_put(list, ONS_ACTION_FORWARD, stage, forward++);
        ons_schedule_put(list, ONS_ACTION_INPUT_GRADIENT, stage, input);
        if (input >= stage) put_weight_gradient(list, p, stage, weight++);
    }
    while (weight < m) put_weight_gradient(list, p, stage, weight++);
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    ONS_TRY(ons_schedule_check_straight(p));
    ONS_TRY(ons_schedule_reserve(p, 3, arena, lists));
    for (uint32_t stage = 0; stage < p->stages; ++stage) put_stage(&lists[stage], p, stage);
    return NULL;
}

const ons_generator ons_generator_zero_bubble = {
    .name = "zb-h1",
    .summary = "1f1b with weight gradients put off into its bubbles, in the memory of its first stage",
    .generate = generate,
    .chunks = 1,
    .asynchronous = false,
};
