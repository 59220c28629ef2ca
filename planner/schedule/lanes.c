#include "planner/schedule/lanes.h"

static uint32_t count_copies(const ons_schedule *s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->stages; ++i) count += ons_schedule_grouping(s, i).copies;
    return count;
}

static ons_status *keep_devices(const ons_schedule *s, ons_arena *arena, ons_schedule_lanes *lanes) {
    uint32_t *device;
    ONS_NEW(device, arena, s->devices);
    for (uint32_t i = 0; i < s->devices; ++i) device[i] = i;
    *lanes = (ons_schedule_lanes){.schedule = *s, .device = device};
    return NULL;
}

/* What the device computes of one stage; *places: where. */
static ons_status *take_list(const ons_schedule *s, uint32_t device, uint32_t stage, ons_arena *arena,
                             ons_action_list *list, uint32_t **places) {
    const ons_action_list *all = &s->lists[device];
    ONS_NEW(list->items, arena, all->count);
    ONS_NEW(*places, arena, 2 * (size_t)ons_schedule_copy_micro_batches(s, stage));
    for (uint32_t i = 0; i < all->count; ++i) {
        const ons_action *a = &all->items[i];
        if (a->stage != stage) continue;
        list->items[list->count++] = *a;
        if (a->kind != ONS_ACTION_UPDATE) (*places)[2 * a->micro_batch + (a->kind == ONS_ACTION_BACKWARD)] = i;
    }
    return NULL;
}

static ons_status *set_stage(const ons_schedule *s, uint32_t stage, uint32_t first, ons_arena *arena,
                             ons_schedule_lanes *lanes, uint32_t *device, uint32_t **places) {
    for (uint32_t copy = 0; copy < ons_schedule_grouping(s, stage).copies; ++copy) {
        uint32_t lane = first + copy;
        device[lane] = ons_schedule_device(s, stage, copy);
        ONS_TRY(take_list(s, device[lane], stage, arena, &lanes->schedule.lists[lane], &places[lane]));
    }
    return NULL;
}

/* A device without a second stage is beside itself. */
static ons_status *find_beside(const ons_schedule_lanes *lanes, ons_arena *arena, uint32_t **beside) {
    uint32_t count = lanes->schedule.devices;
    ONS_NEW(*beside, arena, count);
    for (uint32_t i = 0; i < count; ++i) (*beside)[i] = i;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < count; ++k)
            if (k != i && lanes->device[k] == lanes->device[i]) (*beside)[i] = k;
    return NULL;
}

/* Copies lie crosswise over devices; as lanes they lie in a row, the copies of a stage beside each other, which every
 * other part of the program knows how to run. */
ons_status *ons_schedule_lanes_find(const ons_schedule *s, ons_arena *arena, ons_schedule_lanes *lanes) {
    ons_stage_grouping *groupings;
    uint32_t *device, **places, *device_of, *beside, lane = 0;
    if (!ons_schedule_is_crossed(s)) return keep_devices(s, arena, lanes);
    *lanes = (ons_schedule_lanes){.schedule = *s};
    lanes->schedule.devices = count_copies(s);
    ONS_NEW(lanes->schedule.lists, arena, lanes->schedule.devices);
    ONS_NEW(groupings, arena, s->stages);
    ONS_NEW(device_of, arena, s->stages);
    ONS_NEW(device, arena, lanes->schedule.devices);
    ONS_NEW(places, arena, lanes->schedule.devices);
    for (uint32_t i = 0; i < s->stages; ++i) {
        groupings[i] = s->groupings[i];
        groupings[i].stride = 1;
        device_of[i] = lane;
        ONS_TRY(set_stage(s, i, lane, arena, lanes, device, places));
        lane += groupings[i].copies;
    }
    lanes->schedule.groupings = groupings;
    lanes->schedule.device_of = device_of;
    lanes->device = device;
    lanes->places = (const uint32_t *const *)places;
    ONS_TRY(find_beside(lanes, arena, &beside));
    lanes->beside = beside;
    return NULL;
}
