#include "planner/schedule/writer.h"

void ons_schedule_put_alternating(ons_action_list *list, const ons_pipeline *p, uint32_t stage, uint32_t ahead) {
    uint32_t m = p->micro_batches, forward = 0;
    for (uint32_t backward = 0; backward < m; ++backward) {
        while (forward < m && forward <= backward + ahead) ons_schedule_put(list, ONS_ACTION_FORWARD, stage, forward++);
        ons_schedule_put(list, ONS_ACTION_BACKWARD, stage, backward);
        if (p->generator->asynchronous || backward == m - 1) ons_schedule_put(list, ONS_ACTION_UPDATE, stage, backward);
    }
}

ons_status *ons_schedule_reserve(const ons_pipeline *p, uint32_t actions, ons_arena *arena, ons_action_list *lists) {
    size_t stages = (p->stages + p->devices - 1) / p->devices;
    for (uint32_t i = 0; i < p->devices; ++i)
        ONS_NEW(lists[i].items, arena, stages * ((size_t)p->micro_batches * actions + 1));
    return NULL;
}

ons_status *ons_schedule_check_straight(const ons_pipeline *p) {
    ONS_CHECK(
        p->devices == p->stages, ONS_INVALID_ARGUMENT,
        "schedule %s puts each stage on a device of its own, and cannot put %u stages on %u devices; take another "
        "--pipeline, or as many --devices as --stages",
        p->generator->name, p->stages, p->devices);
    return NULL;
}
