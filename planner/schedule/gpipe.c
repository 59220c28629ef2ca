#include "planner/schedule/writer.h"

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    ONS_TRY(ons_schedule_check_straight(p));
    ONS_TRY(ons_schedule_reserve(p, 2, arena, lists));
    for (uint32_t stage = 0; stage < p->stages; ++stage)
        ons_schedule_put_alternating(&lists[stage], p, stage, p->micro_batches);
    return NULL;
}

const ons_generator ons_generator_gpipe = {
    .name = "gpipe",
    .summary = "all forward parts, then all backward parts",
    .generate = generate,
    .chunks = 1,
    .asynchronous = false,
};
