#include "planner/stage_graph/stage_lists.h"

#include "planner/schedule/writer.h"

/* Writes kFkB with `ahead` micro-batches in flight: forward parts up to that number, then in turn k backward parts and
 * forward parts for the places that these freed. With k = 1 that is 1F1B. */
static void put_list(const ons_stage_graph *g, uint32_t stage, ons_action_list *list) {
    const ons_graph_stage *s = &g->stages[stage];
    uint32_t count = ons_graph_micro_batches(g, stage), forward = 0, backward = 0;
    uint32_t ahead = (uint32_t)(s->in_flight / s->pace.samples);
    while (backward < count) {
        while (forward < count && forward < backward + ahead)
            ons_schedule_put(list, ONS_ACTION_FORWARD, stage, forward++);
        for (uint32_t i = 0; i < s->pace.turns && backward < forward; ++i)
            ons_schedule_put(list, ONS_ACTION_BACKWARD, stage, backward++);
    }
    ons_schedule_put(list, ONS_ACTION_UPDATE, stage, count - 1);
}

ons_status *ons_stage_lists_make(const ons_stage_graph *g, ons_arena *arena, ons_action_list **lists) {
    ONS_NEW(*lists, arena, g->stage_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ONS_CHECK(g->stages[i].in_flight >= g->stages[i].pace.samples, ONS_INVALID_ARGUMENT,
                  "stage %u has no micro-batch in flight", i);
        ONS_NEW((*lists)[i].items, arena, 2 * (size_t)ons_graph_micro_batches(g, i) + 1);
        put_list(g, i, &(*lists)[i]);
    }
    return NULL;
}

int64_t ons_stage_lists_in_flight(const ons_stage_graph *g, const ons_action_list *lists, uint32_t stage) {
    int64_t now = 0, most = 0;
    for (uint32_t i = 0; i < lists[stage].count; ++i) {
        ons_action_kind kind = lists[stage].items[i].kind;
        now += kind == ONS_ACTION_FORWARD ? 1 : kind == ONS_ACTION_BACKWARD ? -1 : 0;
        if (now > most) most = now;
    }
    return most * g->stages[stage].pace.samples;
}

ons_status *ons_stage_lists_check(const ons_stage_graph *g, const ons_action_list *lists) {
    for (uint32_t stage = 0; stage < g->stage_count; ++stage) {
        uint32_t forward = 0, backward = 0, count = ons_graph_micro_batches(g, stage);
        for (uint32_t i = 0; i < lists[stage].count; ++i) {
            const ons_action *a = &lists[stage].items[i];
            if (a->kind == ONS_ACTION_UPDATE) continue;
            bool goes_forward = a->kind == ONS_ACTION_FORWARD;
            ONS_CHECK(a->stage == stage && (goes_forward || a->kind == ONS_ACTION_BACKWARD), ONS_INVALID_DATA,
                      "C4: action %u of stage %u is none of its forward or backward parts", i, stage);
            ONS_CHECK(a->micro_batch == (goes_forward ? forward : backward), ONS_INVALID_DATA,
                      "C4: action %u of stage %u is of micro-batch %u out of its order", i, stage, a->micro_batch);
            ONS_CHECK(goes_forward || backward < forward, ONS_INVALID_DATA,
                      "C4: stage %u runs the backward part of micro-batch %u before its forward part", stage, backward);
            forward += goes_forward;
            backward += !goes_forward;
        }
        ONS_CHECK(forward == count && backward == count, ONS_INVALID_DATA,
                  "C4: stage %u runs %u forward and %u backward parts of %u micro-batches", stage, forward, backward,
                  count);
        int64_t in_flight = ons_stage_lists_in_flight(g, lists, stage);
        ONS_CHECK(in_flight <= g->stages[stage].in_flight, ONS_INVALID_DATA,
                  "stage %u has %lld samples in flight, and the plan says %lld", stage, (long long)in_flight,
                  (long long)g->stages[stage].in_flight);
    }
    return NULL;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Samples of a replica in a micro-batch: replica i has the i-th part of the stage's micro-batch. */
static int64_t own_samples(const ons_graph_stage *s) { return s->pace.samples / s->replicas; }

static ons_status *check_samples(const ons_stage_graph *g) {
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        ONS_CHECK(s->replicas > 0 && s->pace.samples > 0 && s->pace.samples % s->replicas == 0 &&
                      g->batch % s->pace.samples == 0,
                  ONS_INVALID_ARGUMENT,
                  "stage %u: micro-batches of %lld samples do not divide %lld, or %u replicas cannot share one evenly",
                  i, (long long)s->pace.samples, (long long)g->batch, s->replicas);
        ONS_CHECK(s->first_device <= g->devices && s->replicas <= g->devices - s->first_device, ONS_INVALID_ARGUMENT,
                  "stage %u has %u replicas from device %u on; there are %u devices", i, s->replicas, s->first_device,
                  g->devices);
    }
    return NULL;
}

/* Copies a stage's list for one of its replicas, which is called a copy in it. */
static ons_status *copy_list(const ons_action_list *from, uint32_t copy, ons_arena *arena, ons_action_list *to) {
    ONS_NEW(to->items, arena, from->count);
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; ++i) {
        to->items[i] = from->items[i];
        to->items[i].copy = copy;
    }
    return NULL;
}

/* Micro-batches of stages differ in size, and a schedule counts all of them in one unit: the greatest number of samples
 * that divides what each replica takes at once, unless one is given. */
ons_status *ons_stage_lists_schedule(const ons_stage_graph *g, int64_t unit, ons_arena *arena, ons_schedule *schedule) {
    ons_action_list *lists;
    ons_stage_grouping *groupings;
    int64_t most = 0;
    ONS_TRY(check_samples(g));
    for (uint32_t i = 0; i < g->stage_count; ++i) most = greatest_divisor(own_samples(&g->stages[i]), most);
    if (unit == 0) unit = most;
    ONS_CHECK(unit > 0 && most % unit == 0, ONS_INVALID_ARGUMENT,
              "replicas take %lld samples at once, which %lld do not divide", (long long)most, (long long)unit);
    ONS_CHECK(g->batch / unit < UINT32_MAX / 16, ONS_INVALID_ARGUMENT,
              "a step of %lld samples in units of %lld has more of them than can be numbered", (long long)g->batch,
              (long long)unit);
    *schedule =
        (ons_schedule){.stages = g->stage_count, .devices = g->devices, .micro_batches = (uint32_t)(g->batch / unit)};
    ONS_NEW(groupings, arena, g->stage_count);
    ONS_NEW(schedule->lists, arena, g->devices);
    ONS_TRY(ons_stage_lists_make(g, arena, &lists));
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        groupings[i] = (ons_stage_grouping){(uint32_t)(own_samples(s) / unit), s->replicas, 1};
        for (uint32_t copy = 0; copy < s->replicas; ++copy)
            ONS_TRY(copy_list(&lists[i], copy, arena, &schedule->lists[s->first_device + copy]));
    }
    schedule->groupings = groupings;
    if (!ons_schedule_is_grouped(schedule)) schedule->groupings = NULL;
    return ons_schedule_take(schedule, arena);
}
