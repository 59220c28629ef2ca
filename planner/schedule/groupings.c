#include "planner/schedule/schedule.h"

static bool is_one(ons_stage_grouping g) { return g.size == 1 && g.copies == 1; }

bool ons_schedule_is_grouped(const ons_schedule *s) {
    for (uint32_t i = 0; s->groupings != NULL && i < s->stages; ++i)
        if (!is_one(s->groupings[i])) return true;
    return false;
}

static ons_status *check_numbers(const ons_schedule *s, uint32_t stage) {
    ons_stage_grouping g = s->groupings[stage];
    ONS_CHECK(g.size > 0 && g.copies > 0 && s->micro_batches % ((uint64_t)g.size * g.copies) == 0, ONS_INVALID_DATA,
              "stage %u takes %u units at once in each of %u copies, which does not divide the step's %u units", stage,
              g.size, g.copies, s->micro_batches);
    return NULL;
}

/* What lists of such stages cannot hold yet. */
static ons_status *check_action(const ons_schedule *s, uint32_t device, uint32_t i) {
    const ons_action *a = &s->lists[device].items[i], *first = &s->lists[device].items[0];
    bool apart = a->kind == ONS_ACTION_INPUT_GRADIENT || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
    ONS_CHECK(
        !apart && !a->halved, ONS_UNSUPPORTED,
        "device %u, action %u: %s of stage %u %s; where stages have micro-batches or copies of their own, forward "
        "and backward parts are whole",
        device, i, ons_action_name(a->kind), a->stage, apart ? "apart" : "in two halves");
    if (a->stage == first->stage || a->stage >= s->stages || first->stage >= s->stages) return NULL;
    ons_stage_grouping g = s->groupings[a->stage], other = s->groupings[first->stage];
    ONS_CHECK(g.copies == 1 && other.copies == 1 && g.size == other.size, ONS_UNSUPPORTED,
              "device %u computes stages %u and %u; stages on one device have one copy each, and micro-batches of the "
              "same size",
              device, first->stage, a->stage);
    return NULL;
}

ons_status *ons_schedule_check_groupings(const ons_schedule *s) {
    for (uint32_t i = 0; s->groupings != NULL && i < s->stages; ++i) ONS_TRY(check_numbers(s, i));
    if (!ons_schedule_is_grouped(s)) return NULL;
    ONS_CHECK(!s->asynchronous, ONS_UNSUPPORTED,
              "stages have micro-batches or copies of their own, which an asynchronous schedule cannot have");
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) ONS_TRY(check_action(s, device, i));
    return NULL;
}
