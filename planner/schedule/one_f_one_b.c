#include "planner/schedule/writer.h"

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    ONS_TRY(ons_schedule_check_straight(p));
    ONS_TRY(ons_schedule_reserve(p, 2, arena, lists));
    for (uint32_t stage = 0; stage < p->stages; ++stage)
        ons_schedule_put_alternating(&lists[stage], p, stage, p->stages - stage - 1);
    return NULL;
}

const ons_generator ons_generator_one_f_one_b = {
    .name = "1f1b",
    .summary = "one forward, one backward, after a warm-up",
    .generate = generate,
    .chunks = 1,
    .asynchronous = false,
};
