#include <math.h>

#include "planner/shared_stages/part_times.h"
#include "planner/shared_stages/placed_lists.h"

typedef struct checker {
    const ons_placed_plan *plan;
    const ons_action_list *lists;
    ons_part_times times; /* all of them 0: what counts is what has run */
    uint32_t *next;       /* [device] */
    bool *updated;        /* [copy of all] */
} checker;

static uint32_t done(const checker *c, ons_part_type type, const ons_action *a) {
    return c->times.done[type][c->times.first_copy[a->stage] + a->copy];
}

static ons_status *check_place(const checker *c, uint32_t device, uint32_t at) {
    const ons_action *a = &c->lists[device].items[at];
    const ons_placed_plan *p = c->plan;
    ONS_CHECK(a->stage < p->stage_count && a->copy < p->stages[a->stage].copies &&
                  a->micro_batch < ons_placed_parts(p, a->stage),
              ONS_INVALID_DATA, "device %u, action %u: there is no stage %u with a copy %u and a part %u", device, at,
              a->stage, a->copy, a->micro_batch);
    ONS_CHECK(p->stages[a->stage].devices[a->copy] == device, ONS_INVALID_DATA,
              "device %u, action %u: copy %u of stage %u is on device %u", device, at, a->copy, a->stage,
              p->stages[a->stage].devices[a->copy]);
    return NULL;
}

/* What an action runs; a whole backward part both gradients. */
static ons_status *types_of(const ons_action *a, ons_part_type *first, ons_part_type *last) {
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: *first = *last = ONS_PART_FORWARD; return NULL;
    case ONS_ACTION_INPUT_GRADIENT: *first = *last = ONS_PART_INPUT; return NULL;
    case ONS_ACTION_WEIGHT_GRADIENT: *first = *last = ONS_PART_WEIGHT; return NULL;
    case ONS_ACTION_BACKWARD:
        *first = ONS_PART_INPUT;
        *last = ONS_PART_WEIGHT;
        return NULL;
    default:
        return ons_status_new(ONS_UNSUPPORTED, "stage %u: %s is not a part that lists of placed stages hold", a->stage,
                              ons_action_name(a->kind));
    }
}

/* A copy's parts of one type come in ascending order, each once; a gradient comes behind what it needs of the same
 * copy. The order decides the bits of sums, so it is a rule and not a preference. */
static ons_status *check_turn(const checker *c, const ons_action *a, ons_part_type type) {
    ONS_CHECK(ons_part_is_left(&c->times, type, a->stage, a->copy), ONS_INVALID_DATA,
              "stage %u, copy %u: %s of part %u, but it has run all of its parts", a->stage, a->copy,
              ons_action_name(a->kind), a->micro_batch);
    uint32_t next = ons_part_next(&c->times, type, a->stage, a->copy);
    ONS_CHECK(next == a->micro_batch, ONS_INVALID_DATA,
              "stage %u, copy %u: %s of part %u stands where part %u is next; each is there once, in ascending order",
              a->stage, a->copy, ons_action_name(a->kind), a->micro_batch, next);
    ONS_CHECK(type == ONS_PART_FORWARD || done(c, type - 1, a) > done(c, type, a) || a->kind == ONS_ACTION_BACKWARD,
              ONS_INVALID_DATA, "stage %u, copy %u: %s of part %u stands before what it needs", a->stage, a->copy,
              ons_action_name(a->kind), a->micro_batch);
    return NULL;
}

static ons_status *run_update(checker *c, const ons_action *a) {
    uint32_t parts = ons_placed_copy_parts(c->plan, a->stage, a->copy);
    bool *updated = &c->updated[c->times.first_copy[a->stage] + a->copy];
    ONS_CHECK(!*updated, ONS_INVALID_DATA, "stage %u, copy %u: a second update", a->stage, a->copy);
    ONS_CHECK(done(c, ONS_PART_WEIGHT, a) == parts, ONS_INVALID_DATA,
              "stage %u, copy %u: the update stands before the last gradient", a->stage, a->copy);
    *updated = true;
    return NULL;
}

static bool is_same_part(const ons_action *a, const ons_action *b) {
    return a->kind == b->kind && a->stage == b->stage && a->micro_batch == b->micro_batch;
}

/* Whether all copies of a stage that holds its devices have come to the action. */
static bool have_all_come(const checker *c, const ons_action *a) {
    const ons_placed_stage *s = &c->plan->stages[a->stage];
    for (uint32_t i = 0; i < s->copies; ++i) {
        const ons_action_list *list = &c->lists[s->devices[i]];
        uint32_t next = c->next[s->devices[i]];
        if (next == list->count || !is_same_part(&list->items[next], a)) return false;
    }
    return true;
}

static ons_status *take(checker *c, uint32_t device, ons_part_type first, ons_part_type last) {
    const ons_action *a = &c->lists[device].items[c->next[device]++];
    for (ons_part_type type = first; type <= last; ++type) {
        ONS_TRY(check_turn(c, a, type));
        ons_part_take(&c->times, type, a->stage, a->copy, 0);
    }
    return NULL;
}

static ons_status *take_on_all(checker *c, const ons_placed_stage *s, ons_part_type first, ons_part_type last) {
    for (uint32_t i = 0; i < s->copies; ++i) {
        ONS_TRY(check_place(c, s->devices[i], c->next[s->devices[i]]));
        ONS_TRY(take(c, s->devices[i], first, last));
    }
    return NULL;
}

/* *ran: false where it waits for another device. */
static ons_status *run_action(checker *c, uint32_t device, bool *ran) {
    uint32_t at = c->next[device];
    const ons_action *a = &c->lists[device].items[at];
    ons_part_type first, last;
    ONS_TRY(check_place(c, device, at));
    *ran = true;
    if (a->kind == ONS_ACTION_UPDATE) {
        ++c->next[device];
        return run_update(c, a);
    }
    ONS_TRY(types_of(a, &first, &last));
    for (ons_part_type type = first; type <= last; ++type) ONS_TRY(check_turn(c, a, type));
    const ons_placed_stage *s = &c->plan->stages[a->stage];
    bool holds = s->holds && first != ONS_PART_WEIGHT;
    *ran = ons_part_ready(&c->times, first, a->stage, a->copy) < INFINITY && (!holds || have_all_come(c, a));
    if (!*ran) return NULL;
    return holds ? take_on_all(c, s, first, last) : take(c, device, first, last);
}

/* Lets every device run as far as it can, round after round, until none moves: lists that hang are found without times,
 * in any order of devices. */
static ons_status *run_lists(checker *c) {
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t device = 0; device < c->plan->devices; ++device)
            for (bool ran = true; ran && c->next[device] < c->lists[device].count;) {
                ONS_TRY(run_action(c, device, &ran));
                moved |= ran;
            }
    }
    return NULL;
}

static ons_status *check_end(const checker *c) {
    for (uint32_t device = 0; device < c->plan->devices; ++device) {
        if (c->next[device] == c->lists[device].count) continue;
        const ons_action *a = &c->lists[device].items[c->next[device]];
        return ons_status_new(ONS_INVALID_DATA,
                              "the schedule hangs: device %u stands at action %u, %s of stage %u, copy %u, part %u",
                              device, c->next[device], ons_action_name(a->kind), a->stage, a->copy, a->micro_batch);
    }
    for (uint32_t stage = 0; stage < c->plan->stage_count; ++stage)
        for (uint32_t copy = 0; copy < c->plan->stages[stage].copies; ++copy)
            ONS_CHECK(c->updated[c->times.first_copy[stage] + copy], ONS_INVALID_DATA,
                      "stage %u, copy %u: no update follows its last gradient", stage, copy);
    return NULL;
}

ons_status *ons_placed_lists_check(const ons_placed_plan *plan, const ons_action_list *lists, ons_arena *arena) {
    checker c = {.plan = plan, .lists = lists};
    ONS_TRY(ons_placed_plan_check(plan));
    ONS_TRY(ons_part_times_make(plan, arena, &c.times));
    ONS_NEW(c.next, arena, plan->devices);
    ONS_NEW(c.updated, arena, c.times.first_copy[plan->stage_count]);
    ONS_TRY(run_lists(&c));
    return check_end(&c);
}
