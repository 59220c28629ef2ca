#include "engine/plan/swap_order_check.h"

#include "planner/schedule/device_groups.h"
#include "planner/schedule/places.h"

typedef struct device_cut {
    const ons_cut_stage *cut;
    uint32_t chunks;
    uint32_t *first_reader, *last_reader; /* of each value: positions; 0: there is none */
} device_cut;

static ons_part part_of(const device_cut *d, uint32_t position) {
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(d->chunks) && position >= d->cut->end[part]) ++part;
    return part;
}

/* What comes back or is made again for weight gradients, and is read in a part of a greater number as well. */
static ons_status *check_value(const device_cut *d, ons_value_id value, uint32_t position) {
    ons_part part = part_of(d, position);
    if (part <= d->chunks || part >= ons_part_last(d->chunks)) return NULL;
    if (ons_part_kind_of(d->chunks, part) != ONS_PART_WEIGHT || part_of(d, d->last_reader[value]) <= part) return NULL;
    return ons_status_new(ONS_UNSUPPORTED,
                          "'%s' is swapped or computed again for weight gradients (W) and for an earlier stage of the "
                          "same device, whose input gradients (I) stand in front of them in the device's list; put "
                          "those W in front of them, or allow more --memory",
                          ons_graph_value(d->cut->graph, value)->name);
}

static ons_status *check_device(const device_cut *d) {
    const ons_graph *graph = d->cut->graph;
    for (ons_node_id id = (ons_node_id)graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            d->first_reader[node->inputs[i]] = id;
            if (d->last_reader[node->inputs[i]] == 0) d->last_reader[node->inputs[i]] = id;
        }
        for (uint32_t i = 0; d->cut->again[id] && i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) ONS_TRY(check_value(d, node->outputs[i], id));
    }
    for (uint32_t i = 0; i < d->cut->swap_count; ++i) {
        ons_value_id back = d->cut->swaps[i].back;
        ONS_TRY(check_value(d, back, d->first_reader[back]));
    }
    return NULL;
}

static ons_status *check_devices(const ons_schedule *schedule, const ons_cut *cut, ons_arena *arena) {
    ons_device_groups groups;
    ONS_TRY(ons_device_groups_find(schedule, arena, &groups));
    for (uint32_t i = 0; i < cut->stage_count; ++i) {
        ons_device_places places;
        device_cut d = {.cut = &cut->stages[i]};
        ONS_TRY(ons_schedule_places(schedule, groups.items[i].first, arena, &places));
        if (places.ordered) continue;
        d.chunks = places.chunks;
        ONS_NEW(d.first_reader, arena, d.cut->graph->values.count + 1);
        ONS_NEW(d.last_reader, arena, d.cut->graph->values.count + 1);
        ONS_TRY(check_device(&d));
    }
    return NULL;
}

ons_status *ons_swap_order_check(const ons_schedule *schedule, const ons_cut *cut) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = check_devices(schedule, cut, arena);
    ons_arena_free(arena);
    return status;
}
