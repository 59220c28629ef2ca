#include <stdio.h>

#include "planner/schedule/verify_state.h"

/* The check knows no preset. First the lists are turned into positions, position(stage, micro-batch, kind), and rules
 * are checked on these; then the devices run their lists: verify_messages.c. */

/* What must stand before an action of the same stage and micro-batch, where it is there. */
static const uint32_t comes_after[ONS_ACTION_COUNT] = {
    [ONS_ACTION_FORWARD] = ONS_BIT(ONS_ACTION_RECEIVE_ACTIVATION),
    [ONS_ACTION_BACKWARD] = ONS_BIT(ONS_ACTION_FORWARD) | ONS_BIT(ONS_ACTION_RECEIVE_GRADIENT) |
                            ONS_BIT(ONS_ACTION_SWAP_IN) | ONS_BIT(ONS_ACTION_RECOMPUTE),
    [ONS_ACTION_INPUT_GRADIENT] = ONS_BIT(ONS_ACTION_FORWARD) | ONS_BIT(ONS_ACTION_RECEIVE_GRADIENT) |
                                  ONS_BIT(ONS_ACTION_SWAP_IN) | ONS_BIT(ONS_ACTION_RECOMPUTE),
    [ONS_ACTION_WEIGHT_GRADIENT] = ONS_BIT(ONS_ACTION_INPUT_GRADIENT),
    [ONS_ACTION_UPDATE] =
        ONS_BIT(ONS_ACTION_BACKWARD) | ONS_BIT(ONS_ACTION_WEIGHT_GRADIENT) | ONS_BIT(ONS_ACTION_ALL_REDUCE),
    [ONS_ACTION_SEND_ACTIVATION] = ONS_BIT(ONS_ACTION_FORWARD),
    [ONS_ACTION_SEND_GRADIENT] = ONS_BIT(ONS_ACTION_BACKWARD) | ONS_BIT(ONS_ACTION_INPUT_GRADIENT),
    [ONS_ACTION_ALL_REDUCE] = ONS_BIT(ONS_ACTION_BACKWARD) | ONS_BIT(ONS_ACTION_WEIGHT_GRADIENT),
    [ONS_ACTION_SWAP_OUT] = ONS_BIT(ONS_ACTION_FORWARD),
    [ONS_ACTION_SWAP_IN] = ONS_BIT(ONS_ACTION_SWAP_OUT),
    [ONS_ACTION_RECOMPUTE] = ONS_BIT(ONS_ACTION_FORWARD),
};

enum { LANE_TEXT = 24 };

/* -------------------------------------------------------------------------------------------------------- positions */

/* A copy of a stage. */
typedef struct lane {
    uint32_t stage, copy, copies, micro_batches;
    char name[LANE_TEXT]; /* "2"; of several copies "2.1" */
} lane;

static lane lane_of(const ons_verifier *v, uint32_t stage, uint32_t copy) {
    lane l = {stage, copy, ons_schedule_grouping(v->s, stage).copies, ons_schedule_copy_micro_batches(v->s, stage), ""};
    snprintf(l.name, sizeof l.name, l.copies > 1 ? "%u.%u" : "%u", stage, copy);
    return l;
}

static uint32_t *position(const ons_verifier *v, const lane *l, uint32_t micro_batch, ons_action_kind kind) {
    size_t number = (size_t)micro_batch * l->copies + l->copy;
    return &v->positions[((size_t)l->stage * v->s->micro_batches + number) * ONS_ACTION_COUNT + kind];
}

/* The device of the stage's first copy, by where the action is. */
static int64_t first_device(const ons_schedule *s, uint32_t device, const ons_action *a) {
    return device - a->copy * (ons_grouping_stride(ons_schedule_grouping(s, a->stage)));
}

/* Checks what all later rules index by: kind, stage, copy, micro-batch, and the device, which must be the one where the
 * stage's copy lies. */
static ons_status *check_action(const ons_verifier *v, uint32_t device, uint32_t i, const ons_action *a) {
    ONS_CHECK((uint32_t)a->kind < ONS_ACTION_COUNT, ONS_INVALID_DATA, "device %u, action %u: no such kind of action",
              device, i);
    bool known = a->stage < v->s->stages;
    uint32_t copies = known ? ons_schedule_grouping(v->s, a->stage).copies : 1;
    uint32_t micro_batches = known ? ons_schedule_copy_micro_batches(v->s, a->stage) : v->s->micro_batches;
    ONS_CHECK(known && a->micro_batch < micro_batches, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u; there are %u stages and %u micro-batches", device,
              i, ons_action_name(a->kind), a->stage, a->micro_batch, v->s->stages, micro_batches);
    ONS_CHECK(a->copy < copies, ONS_INVALID_DATA, "device %u, action %u: %s of copy %u of stage %u, which has %u",
              device, i, ons_action_name(a->kind), a->copy, a->stage, copies);
    uint32_t first = v->device_of[a->stage];
    int64_t own = first_device(v->s, device, a);
    ONS_CHECK(own >= 0 && own < v->s->devices && (first == own || first == UINT32_MAX), ONS_INVALID_DATA,
              "stage %u has actions on device %u and on device %u; a stage lies on one device, and its copies on "
              "devices in a row, or as far apart as the schedule says",
              a->stage, first == UINT32_MAX ? 0 : first, device);
    ONS_CHECK(!a->halved || a->kind == ONS_ACTION_FORWARD, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u in two halves; only forward parts can be", device,
              i, ons_action_name(a->kind), a->stage, a->micro_batch);
    ONS_CHECK(!a->halved || !v->s->asynchronous, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u in two halves, which an asynchronous schedule does "
              "not have",
              device, i, ons_action_name(a->kind), a->stage, a->micro_batch);
    return NULL;
}

static ons_status *place(ons_verifier *v, uint32_t device, uint32_t i, const ons_action *a) {
    ONS_TRY(check_action(v, device, i, a));
    const lane l = {.stage = a->stage, .copy = a->copy, .copies = ons_schedule_grouping(v->s, a->stage).copies};
    uint32_t *p = position(v, &l, a->micro_batch, a->kind);
    ONS_CHECK(*p == 0, ONS_INVALID_DATA, "device %u, actions %u and %u: %s of stage %u, micro-batch %u comes twice",
              device, *p - 1, i, ons_action_name(a->kind), a->stage, a->micro_batch);
    *p = i + 1;
    v->device_of[a->stage] = (uint32_t)first_device(v->s, device, a);
    if (ONS_BIT(a->kind) & ONS_COMMUNICATION) v->explicit = true;
    return NULL;
}

static ons_status *place_all(ons_verifier *v, ons_arena *arena) {
    const ons_schedule *s = v->s;
    ONS_CHECK(s->stages > 0 && s->micro_batches > 0 && (uint64_t)s->stages * s->micro_batches < UINT32_MAX / 16,
              ONS_INVALID_DATA, "a schedule of %u stages and %u micro-batches: none, or more than can be numbered",
              s->stages, s->micro_batches);
    ONS_TRY(ons_schedule_check_groupings(s));
    ONS_NEW(v->positions, arena, (size_t)s->stages * s->micro_batches * ONS_ACTION_COUNT);
    ONS_NEW(v->device_of, arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i) v->device_of[i] = UINT32_MAX;
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) ONS_TRY(place(v, device, i, &s->lists[device].items[i]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ edges */

static ons_status *make_line(ons_verifier *v, ons_arena *arena) {
    ons_stage_edge *line;
    ONS_NEW(line, arena, v->s->stages);
    for (uint32_t i = 0; i + 1 < v->s->stages; ++i)
        line[i] = (ons_stage_edge){i, i + 1, true, false, ons_schedule_ahead(v->s, i, i + 1)};
    v->edges = line;
    v->edge_count = v->s->stages - 1;
    return NULL;
}

static ons_status *make_edges(ons_verifier *v, const ons_stage_edges *edges, ons_arena *arena) {
    if (edges == NULL) {
        ONS_TRY(make_line(v, arena));
    } else {
        v->edges = edges->items;
        v->edge_count = edges->count;
    }
    ONS_NEW(v->begin, arena, (size_t)v->s->stages + 2);
    ONS_NEW(v->of, arena, (size_t)v->edge_count * 2);
    for (uint32_t i = 0; i < v->edge_count; ++i) {
        const ons_stage_edge *e = &v->edges[i];
        ONS_CHECK(e->from < v->s->stages && e->to < v->s->stages && e->from != e->to, ONS_INVALID_DATA,
                  "a value goes from stage %u to stage %u, but there are %u stages", e->from, e->to, v->s->stages);
        ++v->begin[e->from + 2];
        ++v->begin[e->to + 2];
    }
    for (uint32_t i = 2; i <= v->s->stages; ++i) v->begin[i] += v->begin[i - 1];
    for (uint32_t i = 0; i < v->edge_count; ++i) { /* begin[stage + 1] counts up to where the next stage begins */
        v->of[v->begin[v->edges[i].from + 1]++] = i;
        v->of[v->begin[v->edges[i].to + 1]++] = i;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ rules */

/* Sends and receives that a stage must name where they are named. */
static uint32_t wanted_communication(const ons_verifier *v, uint32_t stage) {
    uint32_t wanted = 0;
    for (uint32_t i = v->begin[stage]; i < v->begin[stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        if (ons_verifier_is_local(v, e)) continue;
        bool leaves = e->from == stage;
        wanted |= leaves ? ONS_BIT(ONS_ACTION_SEND_ACTIVATION) : ONS_BIT(ONS_ACTION_RECEIVE_ACTIVATION);
        if (e->gradient) wanted |= leaves ? ONS_BIT(ONS_ACTION_RECEIVE_GRADIENT) : ONS_BIT(ONS_ACTION_SEND_GRADIENT);
    }
    return wanted;
}

static uint32_t present_kinds(const ons_verifier *v, const lane *l, uint32_t micro_batch) {
    uint32_t present = 0;
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind)
        if (*position(v, l, micro_batch, kind) != 0) present |= ONS_BIT(kind);
    return present;
}

/* Checks which actions of a micro-batch are there: one forward part, a backward part that is whole or in two, swaps in
 * pairs, and, where lists name messages at all, every message that the edges need and no other. */
static ons_status *check_presence(const ons_verifier *v, const lane *l, uint32_t mb, uint32_t present,
                                  uint32_t wanted) {
    ONS_CHECK(present & ONS_BIT(ONS_ACTION_FORWARD), ONS_INVALID_DATA, "stage %s, micro-batch %u: forward is missing",
              l->name, mb);
    bool apart = (present & (ONS_BIT(ONS_ACTION_INPUT_GRADIENT) | ONS_BIT(ONS_ACTION_WEIGHT_GRADIENT))) != 0;
    if (apart)
        ONS_CHECK((present & ONS_BIT(ONS_ACTION_INPUT_GRADIENT)) && (present & ONS_BIT(ONS_ACTION_WEIGHT_GRADIENT)) &&
                      !(present & ONS_BIT(ONS_ACTION_BACKWARD)),
                  ONS_INVALID_DATA,
                  "stage %s, micro-batch %u: either backward, or input gradient and weight gradient, each once",
                  l->name, mb);
    else
        ONS_CHECK(present & ONS_BIT(ONS_ACTION_BACKWARD), ONS_INVALID_DATA,
                  "stage %s, micro-batch %u: backward is missing", l->name, mb);
    ONS_CHECK(!(present & ONS_BIT(ONS_ACTION_SWAP_OUT)) == !(present & ONS_BIT(ONS_ACTION_SWAP_IN)), ONS_INVALID_DATA,
              "stage %s, micro-batch %u: swap out and swap in come together", l->name, mb);
    for (uint32_t kind = 0; v->explicit && kind < ONS_ACTION_COUNT; ++kind)
        ONS_CHECK(!(ONS_BIT(kind) & ONS_COMMUNICATION & (present ^ wanted)), ONS_INVALID_DATA,
                  "stage %s, micro-batch %u: %s %s", l->name, mb, ons_action_name(kind),
                  wanted & ONS_BIT(kind) ? "is missing, though other sends and receives are named"
                                         : "has nothing to carry");
    return NULL;
}

static ons_status *check_order(const ons_verifier *v, const lane *l, uint32_t mb, uint32_t present) {
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind) {
        if (!(present & ONS_BIT(kind))) continue;
        for (uint32_t before = 0; before < ONS_ACTION_COUNT; ++before)
            ONS_CHECK(!(present & comes_after[kind] & ONS_BIT(before)) ||
                          *position(v, l, mb, before) < *position(v, l, mb, kind),
                      ONS_INVALID_DATA, "stage %s, micro-batch %u: %s stands before %s", l->name, mb,
                      ons_action_name(kind), ons_action_name(before));
    }
    return NULL;
}

/* Where the gradient of the weights is added to that of the micro-batches before. */
static uint32_t gradient_position(const ons_verifier *v, const lane *l, uint32_t mb) {
    uint32_t whole = *position(v, l, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, l, mb, ONS_ACTION_WEIGHT_GRADIENT);
}

static uint32_t input_position(const ons_verifier *v, const lane *l, uint32_t mb) {
    uint32_t whole = *position(v, l, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, l, mb, ONS_ACTION_INPUT_GRADIENT);
}

/* Micro-batches pass a stage in ascending order: gradients are added in that order, which decides the bits of the sum,
 * and places are taken in turn. A synchronous step updates once, behind the last. */
static ons_status *check_update(const ons_verifier *v, const lane *l, uint32_t mb) {
    bool last = mb + 1 == l->micro_batches;
    uint32_t update = *position(v, l, mb, ONS_ACTION_UPDATE);
    ONS_CHECK(!last || update != 0, ONS_INVALID_DATA, "stage %s: no update follows micro-batch %u, the last one",
              l->name, mb);
    if (last) return NULL;
    uint32_t next = gradient_position(v, l, mb + 1);
    ONS_CHECK(gradient_position(v, l, mb) < next, ONS_INVALID_DATA,
              "stage %s: the gradient of micro-batch %u stands before that of micro-batch %u; they are added in "
              "ascending order",
              l->name, mb + 1, mb);
    ONS_CHECK(
        *position(v, l, mb, ONS_ACTION_FORWARD) < *position(v, l, mb + 1, ONS_ACTION_FORWARD) &&
            input_position(v, l, mb) < input_position(v, l, mb + 1),
        ONS_INVALID_DATA,
        "stage %s: micro-batch %u overtakes micro-batch %u; places for what waits, and for messages, are taken in "
        "turn",
        l->name, mb + 1, mb);
    if (update == 0) return NULL;
    ONS_CHECK(v->s->asynchronous, ONS_INVALID_DATA,
              "stage %s: an update after micro-batch %u, but a synchronous step has one, after its last micro-batch",
              l->name, mb);
    ONS_CHECK(update < next, ONS_INVALID_DATA,
              "stage %s: the update of micro-batch %u stands behind the gradient of micro-batch %u", l->name, mb,
              mb + 1);
    return NULL;
}

static ons_status *check_copy(const ons_verifier *v, const lane *l) {
    uint32_t wanted = wanted_communication(v, l->stage);
    for (uint32_t mb = 0; mb < l->micro_batches; ++mb) {
        uint32_t present = present_kinds(v, l, mb);
        ONS_TRY(check_presence(v, l, mb, present, wanted));
        ONS_TRY(check_order(v, l, mb, present));
    }
    for (uint32_t mb = 0; mb < l->micro_batches; ++mb) ONS_TRY(check_update(v, l, mb));
    return NULL;
}

static ons_status *check_stage(const ons_verifier *v, uint32_t stage) {
    for (uint32_t copy = 0; copy < ons_schedule_grouping(v->s, stage).copies; ++copy) {
        const lane l = lane_of(v, stage, copy);
        ONS_TRY(check_copy(v, &l));
    }
    return NULL;
}

ons_status *ons_schedule_verify(const ons_schedule *schedule, const ons_stage_edges *edges, ons_arena *arena) {
    ons_verifier v = {.s = schedule};
    ONS_TRY(place_all(&v, arena));
    ONS_TRY(make_edges(&v, edges, arena));
    for (uint32_t stage = 0; stage < schedule->stages; ++stage) ONS_TRY(check_stage(&v, stage));
    return ons_schedule_run_lists(&v, arena);
}
