#include "planner/schedule/schedule.h"

static bool is_one(ons_stage_grouping g) { return g.size == 1 && g.copies == 1; }

bool ons_schedule_is_grouped(const ons_schedule *s) {
    for (uint32_t i = 0; s->groupings != NULL && i < s->stages; ++i)
        if (!is_one(s->groupings[i])) return true;
    return false;
}

uint32_t ons_schedule_copy_on(const ons_schedule *s, uint32_t stage, uint32_t device) {
    ons_stage_grouping g = ons_schedule_grouping(s, stage);
    int64_t away = (int64_t)device - s->device_of[stage], stride = ons_grouping_stride(g);
    if (away % stride != 0 || away / stride < 0 || away / stride >= g.copies) return ONS_NO_COPY;
    return (uint32_t)(away / stride);
}

uint32_t ons_schedule_first_stage(const ons_schedule *s, uint32_t device) {
    uint32_t stage = 0;
    while (!ons_schedule_holds(s, stage, device)) ++stage;
    return stage;
}

static bool is_in_a_row(ons_stage_grouping g) { return g.copies == 1 || ons_grouping_stride(g) == 1; }

bool ons_schedule_is_crossed(const ons_schedule *s) {
    for (uint32_t i = 0; s->groupings != NULL && i < s->stages; ++i)
        if (!is_in_a_row(s->groupings[i])) return true;
    return false;
}

static ons_status *check_numbers(const ons_schedule *s, uint32_t stage) {
    ons_stage_grouping g = s->groupings[stage];
    ONS_CHECK(g.size > 0 && g.copies > 0 && s->micro_batches % ((uint64_t)g.size * g.copies) == 0, ONS_INVALID_DATA,
              "stage %u takes %u units at once in each of %u copies, which does not divide the step's %u units", stage,
              g.size, g.copies, s->micro_batches);
    return NULL;
}

/* Two copies each, the one's first on the device of the other's second. */
static bool lie_crosswise(const ons_schedule *s, const ons_action *a, const ons_action *b) {
    ons_stage_grouping g = s->groupings[a->stage], h = s->groupings[b->stage];
    return g.copies == 2 && h.copies == 2 && a->copy + b->copy == 1 &&
           ons_grouping_stride(g) == -ons_grouping_stride(h);
}

/* What lists of such stages cannot hold yet. *second: the action of another stage than the list begins with that came
 * first; NULL: none has. */
static ons_status *check_action(const ons_schedule *s, uint32_t device, uint32_t i, const ons_action **second) {
    const ons_action *a = &s->lists[device].items[i], *first = &s->lists[device].items[0];
    bool apart = a->kind == ONS_ACTION_INPUT_GRADIENT || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
    ONS_CHECK(
        !apart && !a->halved, ONS_UNSUPPORTED,
        "device %u, action %u: %s of stage %u %s; where stages have micro-batches or copies of their own, forward "
        "and backward parts are whole",
        device, i, ons_action_name(a->kind), a->stage, apart ? "apart" : "in two halves");
    if (a->stage == first->stage || a->stage >= s->stages || first->stage >= s->stages) return NULL;
    ons_stage_grouping g = s->groupings[a->stage], other = s->groupings[first->stage];
    if (*second == NULL) *second = a;
    bool crossed = lie_crosswise(s, first, a) && a->stage == (*second)->stage;
    bool plain = g.copies == 1 && other.copies == 1 && !ons_schedule_is_crossed(s);
    ONS_CHECK(plain || crossed, ONS_UNSUPPORTED,
              "device %u computes stages %u and %u; stages on one device have one copy each, or there are two stages, "
              "each with two copies on the same two devices in opposite order, and so on all devices of several stages",
              device, first->stage, a->stage);
    ONS_CHECK(g.size == other.size, ONS_UNSUPPORTED,
              "device %u computes stages %u and %u; stages on one device have micro-batches of the same size", device,
              first->stage, a->stage);
    return NULL;
}

/* A device that computes one stage. */
static ons_status *check_alone(const ons_schedule *s, uint32_t device) {
    const ons_action_list *list = &s->lists[device];
    if (list->count == 0 || list->items[0].stage >= s->stages) return NULL;
    uint32_t stage = list->items[0].stage;
    ONS_CHECK(
        is_in_a_row(s->groupings[stage]), ONS_UNSUPPORTED,
        "device %u computes stage %u alone, whose copies do not lie on devices in a row; only those of two stages "
        "may lie apart, on the same two devices in opposite order",
        device, stage);
    return NULL;
}

ons_status *ons_schedule_check_groupings(const ons_schedule *s) {
    for (uint32_t i = 0; s->groupings != NULL && i < s->stages; ++i) ONS_TRY(check_numbers(s, i));
    if (!ons_schedule_is_grouped(s)) return NULL;
    ONS_CHECK(!s->asynchronous, ONS_UNSUPPORTED,
              "stages have micro-batches or copies of their own, which an asynchronous schedule cannot have");
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action *second = NULL;
        for (uint32_t i = 0; i < s->lists[device].count; ++i) ONS_TRY(check_action(s, device, i, &second));
        if (second == NULL) ONS_TRY(check_alone(s, device));
    }
    return NULL;
}
