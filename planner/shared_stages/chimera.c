#include "planner/shared_stages/chimera.h"

#include <stdlib.h>

#include "planner/shared_stages/placed_lists.h"

typedef struct slot {
    uint32_t at;
    ons_action action;
} slot;

static ons_status *check(const ons_placed_plan *p) {
    bool fits = p->devices == p->stage_count && p->devices > 0 && p->devices % 2 == 0;
    for (uint32_t i = 0; fits && i < p->stage_count; ++i) {
        const ons_placed_stage *s = &p->stages[i];
        fits = !s->together && s->copies == 2 && s->devices[0] == i && s->devices[1] == p->devices - 1 - i &&
               ons_placed_parts(p, i) == p->devices;
    }
    ONS_CHECK(
        fits, ONS_INVALID_ARGUMENT,
        "Chimera's schedule is of an even number of stages, each on a device of its own both ways, and of as many "
        "micro-batches");
    return NULL;
}

static int by_slot(const void *a, const void *b) {
    const slot *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->action.stage < y->action.stage ? -1 : x->action.stage > y->action.stage;
}

/* In either direction the micro-batches of a stage are two slots apart, and the other direction's, whose stages are an
 * odd number of devices away, take the slots between. */
static uint32_t put_copy(const ons_placed_plan *p, uint32_t stage, uint32_t copy, slot *slots) {
    uint32_t half = p->devices / 2, count = 0;
    for (uint32_t i = 0; i < half; ++i) {
        uint32_t part = ons_placed_part_of(&p->stages[stage], copy, i);
        slots[count++] = (slot){stage + 2 * i, {ONS_ACTION_FORWARD, stage, copy, part, false}};
        slots[count++] = (slot){2 * p->devices - 1 - stage + 2 * i, {ONS_ACTION_BACKWARD, stage, copy, part, false}};
    }
    uint32_t last = ons_placed_part_of(&p->stages[stage], copy, half - 1);
    slots[count++] = (slot){UINT32_MAX, {ONS_ACTION_UPDATE, stage, copy, last, false}};
    return count;
}

ons_status *ons_chimera_lists(const ons_placed_plan *p, ons_arena *arena, ons_action_list **lists) {
    slot *slots;
    ONS_TRY(ons_placed_plan_check(p));
    ONS_TRY(check(p));
    ONS_TRY(ons_placed_lists_reserve(p, arena, lists));
    ONS_NEW(slots, arena, 2 * (size_t)p->devices + 2);
    for (uint32_t device = 0; device < p->devices; ++device) {
        uint32_t count = put_copy(p, device, 0, slots);
        count += put_copy(p, p->devices - 1 - device, 1, slots + count);
        qsort(slots, count, sizeof *slots, by_slot);
        for (uint32_t i = 0; i < count; ++i) (*lists)[device].items[i] = slots[i].action;
        (*lists)[device].count = count;
    }
    return NULL;
}
