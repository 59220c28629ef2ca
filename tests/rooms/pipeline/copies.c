#include "tests/rooms/pipeline/copies.h"

static void add(ons_action_list *list, ons_action_kind kind, uint32_t stage, uint32_t copy, uint32_t micro_batch) {
    list->items[list->count++] = (ons_action){.kind = kind, .stage = stage, .copy = copy, .micro_batch = micro_batch};
}

/* `ahead`: forward parts in front of the first backward part. */
static ons_status *list_copy(uint32_t stage, uint32_t copy, uint32_t count, uint32_t ahead, ons_arena *arena,
                             ons_action_list *list) {
    ONS_NEW(list->items, arena, 2 * (size_t)count + 1);
    for (uint32_t i = 0; i < count + ahead; ++i) {
        if (i < count) add(list, ONS_ACTION_FORWARD, stage, copy, i);
        if (i + 1 >= ahead && i + 1 - ahead < count) add(list, ONS_ACTION_BACKWARD, stage, copy, i + 1 - ahead);
    }
    add(list, ONS_ACTION_UPDATE, stage, copy, count - 1);
    return NULL;
}

ons_status *copies_schedule(const uint32_t *copies, uint32_t stages, uint32_t micro_batches, bool all_forward_first,
                            ons_arena *arena, ons_schedule *s) {
    ons_stage_grouping *groupings;
    uint32_t devices = 0, device = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        ONS_CHECK(copies[i] > 0, ONS_DEFECT, "stage %u has no copy", i);
        devices += copies[i];
    }
    *s = (ons_schedule){.stages = stages, .devices = devices, .micro_batches = micro_batches};
    ONS_NEW(groupings, arena, stages);
    ONS_NEW(s->lists, arena, devices);
    for (uint32_t i = 0, behind = devices; i < stages; behind -= copies[i++]) {
        uint32_t count = micro_batches / copies[i], ahead = (behind + copies[i] - 1) / copies[i];
        groupings[i] = (ons_stage_grouping){1, copies[i], 1};
        if (all_forward_first || ahead > count) ahead = count;
        for (uint32_t copy = 0; copy < copies[i]; ++copy)
            ONS_TRY(list_copy(i, copy, count, ahead, arena, &s->lists[device++]));
    }
    s->groupings = groupings;
    ONS_TRY(ons_schedule_take(s, arena));
    return ons_schedule_verify(s, NULL, arena);
}
