#include "planner/shared_stages/placements.h"

/* The device, of `devices`, of the i-th stage that lies on one. */
static uint32_t place(const ons_placed_line *l, uint32_t i) {
    uint32_t at = i % l->devices;
    bool back = l->placement == ONS_PLACEMENT_V && i / l->devices % 2 == 1;
    return back ? l->devices - 1 - at : at;
}

static ons_status *put_on_all(const ons_placed_line *l, ons_arena *arena, ons_placed_stage *stage) {
    uint32_t *devices;
    ONS_NEW(devices, arena, l->devices);
    for (uint32_t i = 0; i < l->devices; ++i) devices[i] = l->first_device + i;
    stage->devices = devices;
    stage->copies = l->devices;
    return NULL;
}

/* There is room for two devices; a stage that goes one way has the first alone. */
static ons_status *put_on_one(const ons_placed_line *l, uint32_t i, ons_arena *arena, ons_placed_stage *stage) {
    uint32_t *devices, at = place(l, i);
    ONS_NEW(devices, arena, 2);
    devices[0] = l->first_device + at;
    devices[1] = l->first_device + l->devices - 1 - at;
    stage->devices = devices;
    stage->copies = l->both_ways ? 2 : 1;
    return NULL;
}

static ons_status *check(const ons_placed_line *l) {
    uint32_t placed = 0;
    for (uint32_t i = 0; i < l->count; ++i) placed += !l->stages[i].together;
    bool once = l->placement == ONS_PLACEMENT_ONE_TO_ONE;
    ONS_CHECK(l->devices > 0 && placed % l->devices == 0 && placed > 0 && (!once || placed == l->devices),
              ONS_INVALID_ARGUMENT, "%u stages do not lie evenly on %u devices%s", placed, l->devices,
              once ? ", one on each" : "");
    ONS_CHECK(!l->both_ways || l->devices % 2 == 0, ONS_INVALID_ARGUMENT,
              "both ways along %u devices: the one in the middle would hold a stage twice; take an even number",
              l->devices);
    return NULL;
}

/* Room for so many more stages and edges. */
static ons_status *grow(ons_placed_plan *plan, uint32_t stages, uint32_t edges, ons_arena *arena) {
    ons_placed_stage *more_stages;
    ons_placed_edge *more_edges;
    ONS_NEW(more_stages, arena, (size_t)plan->stage_count + stages);
    ONS_NEW(more_edges, arena, (size_t)plan->edge_count + edges);
    if (plan->stage_count > 0) memcpy(more_stages, plan->stages, plan->stage_count * sizeof *more_stages);
    if (plan->edge_count > 0) memcpy(more_edges, plan->edges, plan->edge_count * sizeof *more_edges);
    plan->stages = more_stages;
    plan->edges = more_edges;
    return NULL;
}

ons_status *ons_placed_plan_add_line(ons_placed_plan *plan, const ons_placed_line *l, ons_arena *arena,
                                     uint32_t *first) {
    ONS_TRY(check(l));
    ONS_TRY(grow(plan, l->count, l->count, arena));
    *first = plan->stage_count;
    for (uint32_t i = 0, placed = 0; i < l->count; ++i) {
        uint32_t number = plan->stage_count++;
        ons_placed_stage *stage = &plan->stages[number];
        *stage = l->stages[i];
        ONS_TRY(stage->together ? put_on_all(l, arena, stage) : put_on_one(l, placed++, arena, stage));
        if (i > 0)
            plan->edges[plan->edge_count++] = (ons_placed_edge){number - 1, number, l->message, l->gradient_message};
    }
    if (plan->devices < l->first_device + l->devices) plan->devices = l->first_device + l->devices;
    return NULL;
}

static bool has_device(const uint32_t *devices, uint32_t count, uint32_t device) {
    for (uint32_t i = 0; i < count; ++i)
        if (devices[i] == device) return true;
    return false;
}

/* Lists each device once, whichever of the lines' last stages lies there. */
ons_status *ons_placed_plan_add_barrier(ons_placed_plan *plan, const ons_placed_stage *costs, const uint32_t *last,
                                        uint32_t count, ons_arena *arena) {
    uint32_t *devices, most = 0, copies = 0;
    for (uint32_t i = 0; i < count; ++i) most += plan->stages[last[i]].copies;
    ONS_NEW(devices, arena, most);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < plan->stages[last[i]].copies; ++k) {
            uint32_t device = plan->stages[last[i]].devices[k];
            if (!has_device(devices, copies, device)) devices[copies++] = device;
        }
    ONS_TRY(grow(plan, 1, count, arena));
    for (uint32_t i = 0; i < count; ++i)
        plan->edges[plan->edge_count++] = (ons_placed_edge){last[i], plan->stage_count, 0, 0};
    ons_placed_stage *barrier = &plan->stages[plan->stage_count++];
    *barrier = *costs;
    barrier->devices = devices;
    barrier->copies = copies;
    barrier->together = true;
    return NULL;
}
