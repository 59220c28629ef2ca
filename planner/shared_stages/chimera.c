#include "planner/shared_stages/chimera.h"

#include "planner/schedule/chimera.h"
#include "planner/shared_stages/placed_lists.h"

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

ons_status *ons_chimera_lists(const ons_placed_plan *p, ons_arena *arena, ons_action_list **lists) {
    ONS_TRY(ons_placed_plan_check(p));
    ONS_TRY(check(p));
    ONS_TRY(ons_placed_lists_reserve(p, arena, lists));
    for (uint32_t device = 0; device < p->devices; ++device) {
        ons_action_list *list = &(*lists)[device];
        ONS_TRY(ons_chimera_put_device(p->devices, 1, device, arena, list));
        for (uint32_t i = 0; i < list->count; ++i) {
            ons_action *a = &list->items[i];
            a->micro_batch = ons_placed_part_of(&p->stages[a->stage], a->copy, a->micro_batch);
        }
    }
    return NULL;
}
