#include "planner/search/slices.h"

#include "planner/schedule/slicer.h"

/* The transfer is that of the slowest link. */
static ons_status *count_by_seconds(const ons_plan *plan, ons_arena *arena, uint32_t *count) {
    uint32_t stages = plan->pipeline.stages;
    double *forward, *backward;
    ons_slicer_stages s = {.stages = stages, .micro_batches = plan->pipeline.micro_batches};
    *count = 0;
    if (plan->schedule.devices < stages) return NULL;
    ONS_NEW(forward, arena, stages);
    ONS_NEW(backward, arena, stages);
    for (uint32_t i = 0; i < stages; ++i) {
        const ons_plan_stage *stage = &plan->stages[i];
        forward[i] = stage->forward_seconds;
        backward[i] = stage->backward_seconds + stage->recompute_seconds + stage->stall_seconds;
        s.transfer = stage->send_seconds > s.transfer ? stage->send_seconds : s.transfer;
    }
    s.forward = forward;
    s.backward = backward;
    *count = ons_slicer_count(&s);
    return NULL;
}

ons_status *ons_plan_slice(ons_plan *plan, uint32_t count, ons_arena *arena) {
    ons_schedule *sliced;
    if (count == ONS_SLICES_AUTO) ONS_TRY(count_by_seconds(plan, arena, &count));
    if (count == 0) return NULL;
    ONS_NEW(sliced, arena, 1);
    ONS_TRY(ons_schedule_slice(&plan->schedule, count, arena, sliced));
    plan->schedule = *sliced;
    return ons_generator_of_lists(sliced, plan->pipeline.generator->name, arena, &plan->pipeline.generator);
}

uint32_t ons_plan_count_slices(const ons_plan *plan) {
    uint32_t count = 0;
    for (uint32_t device = 0; device < plan->schedule.devices; ++device) {
        const ons_action_list *list = &plan->schedule.lists[device];
        for (uint32_t i = 0; i < list->count; ++i)
            if (list->items[i].halved && list->items[i].micro_batch >= count) count = list->items[i].micro_batch + 1;
    }
    return count;
}
