#include "planner/schedule/device_groups.h"

ons_status *ons_device_groups_find(const ons_schedule *s, ons_arena *arena, ons_device_groups *groups) {
    ons_device_group *items;
    uint32_t *of_device, *of_stage, *copies; /* of the stages that begin at a device */
    ONS_NEW(items, arena, s->devices);
    ONS_NEW(of_device, arena, s->devices);
    ONS_NEW(of_stage, arena, s->stages);
    ONS_NEW(copies, arena, s->devices);
    *groups = (ons_device_groups){.items = items, .of_device = of_device, .of_stage = of_stage, .most_copies = 1};
    for (uint32_t stage = 0; stage < s->stages; ++stage)
        copies[s->device_of[stage]] = ons_schedule_grouping(s, stage).copies;
    for (uint32_t device = 0; device < s->devices;) {
        ons_device_group group = {device, copies[device]};
        ONS_CHECK(group.copies > 0 && group.copies <= s->devices - device, ONS_INVALID_DATA,
                  "device %u has no stage, or the copies of its stage reach beyond device %u", device, s->devices - 1);
        for (uint32_t i = 0; i < group.copies; ++i) of_device[device++] = groups->count;
        if (group.copies > groups->most_copies) groups->most_copies = group.copies;
        items[groups->count++] = group;
    }
    for (uint32_t stage = 0; stage < s->stages; ++stage) of_stage[stage] = of_device[s->device_of[stage]];
    return NULL;
}

ons_status *ons_device_list_shorten(const ons_action_list *list, uint32_t micro_batches, ons_arena *arena,
                                    ons_action_list *shorter) {
    *shorter = (ons_action_list){0};
    ONS_NEW(shorter->items, arena, (size_t)list->count + 1);
    for (uint32_t i = 0; i < list->count; ++i) {
        ons_action a = list->items[i];
        if (a.micro_batch >= micro_batches && a.kind != ONS_ACTION_UPDATE) continue;
        if (a.micro_batch >= micro_batches) a.micro_batch = micro_batches > 0 ? micro_batches - 1 : 0;
        shorter->items[shorter->count++] = a;
    }
    return NULL;
}
