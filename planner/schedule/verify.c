#include <stdio.h>

#include "planner/schedule/schedule.h"

/* The check knows no preset. First the lists are turned into positions, position(stage, micro-batch, kind), and rules
 * are checked on these; then the devices run their lists with messages that wait for their other end. Messages are
 * counted in units, which are whole micro-batches where all stages take the same. */

#define BIT(kind) (1u << (kind))
enum {
    COMMUNICATION = BIT(ONS_ACTION_SEND_ACTIVATION) | BIT(ONS_ACTION_RECEIVE_ACTIVATION) |
                    BIT(ONS_ACTION_SEND_GRADIENT) | BIT(ONS_ACTION_RECEIVE_GRADIENT),
};

/* What must stand before an action of the same stage and micro-batch, where it is there. */
static const uint32_t comes_after[ONS_ACTION_COUNT] = {
    [ONS_ACTION_FORWARD] = BIT(ONS_ACTION_RECEIVE_ACTIVATION),
    [ONS_ACTION_BACKWARD] = BIT(ONS_ACTION_FORWARD) | BIT(ONS_ACTION_RECEIVE_GRADIENT) | BIT(ONS_ACTION_SWAP_IN) |
                            BIT(ONS_ACTION_RECOMPUTE),
    [ONS_ACTION_INPUT_GRADIENT] = BIT(ONS_ACTION_FORWARD) | BIT(ONS_ACTION_RECEIVE_GRADIENT) | BIT(ONS_ACTION_SWAP_IN) |
                                  BIT(ONS_ACTION_RECOMPUTE),
    [ONS_ACTION_WEIGHT_GRADIENT] = BIT(ONS_ACTION_INPUT_GRADIENT),
    [ONS_ACTION_UPDATE] = BIT(ONS_ACTION_BACKWARD) | BIT(ONS_ACTION_WEIGHT_GRADIENT) | BIT(ONS_ACTION_ALL_REDUCE),
    [ONS_ACTION_SEND_ACTIVATION] = BIT(ONS_ACTION_FORWARD),
    [ONS_ACTION_SEND_GRADIENT] = BIT(ONS_ACTION_BACKWARD) | BIT(ONS_ACTION_INPUT_GRADIENT),
    [ONS_ACTION_ALL_REDUCE] = BIT(ONS_ACTION_BACKWARD) | BIT(ONS_ACTION_WEIGHT_GRADIENT),
    [ONS_ACTION_SWAP_OUT] = BIT(ONS_ACTION_FORWARD),
    [ONS_ACTION_SWAP_IN] = BIT(ONS_ACTION_SWAP_OUT),
    [ONS_ACTION_RECOMPUTE] = BIT(ONS_ACTION_FORWARD),
};

enum { LANE_TEXT = 24 };

typedef struct device_state {
    uint32_t next; /* in its list */
    bool come;     /* what the next action reads has been begun */
    bool queued;
} device_state;

/* The messages of one kind over an edge, which pass in ascending order. Of a copy of the sender: units that it has
 * sent, and of these those that had room at the other end. Of a copy of the receiver: its micro-batches for which it
 * has come to the action that reads them (or to the receive that the list names). */
typedef struct channel {
    uint32_t sent, placed, wanted;
} channel;

typedef struct verifier {
    const ons_schedule *s;
    const ons_stage_edge *edges;
    uint32_t edge_count;
    uint32_t *device_of;     /* [stage]: of its first copy */
    uint32_t *positions;     /* [stage][number][kind]: 1 + position in the device's list; 0: absent */
    bool explicit;           /* the lists name sends and receives */
    uint32_t *begin, *of;    /* edges of a stage: of[begin[stage]] to of[begin[stage + 1] - 1] */
    uint32_t *first_channel; /* [edge] */
    channel *channels;       /* [first_channel + copy][0: activation, 1: gradient] */
    device_state *devices;
    uint32_t *queue, queued; /* devices that may be able to go on */
} verifier;

/* -------------------------------------------------------------------------------------------------------- positions */

/* A copy of a stage. */
typedef struct lane {
    uint32_t stage, copy, copies, micro_batches;
    char name[LANE_TEXT]; /* "2"; of several copies "2.1" */
} lane;

static lane lane_of(const verifier *v, uint32_t stage, uint32_t copy) {
    lane l = {stage, copy, ons_schedule_grouping(v->s, stage).copies, ons_schedule_copy_micro_batches(v->s, stage), ""};
    snprintf(l.name, sizeof l.name, l.copies > 1 ? "%u.%u" : "%u", stage, copy);
    return l;
}

static uint32_t *position(const verifier *v, const lane *l, uint32_t micro_batch, ons_action_kind kind) {
    size_t number = (size_t)micro_batch * l->copies + l->copy;
    return &v->positions[((size_t)l->stage * v->s->micro_batches + number) * ONS_ACTION_COUNT + kind];
}

/* The device of the stage's first copy, by where the action is. */
static int64_t first_device(const ons_schedule *s, uint32_t device, const ons_action *a) {
    return device - a->copy * (ons_grouping_stride(ons_schedule_grouping(s, a->stage)));
}

static uint32_t device_of_copy(const verifier *v, uint32_t stage, uint32_t copy) {
    return (uint32_t)(v->device_of[stage] + copy * ons_grouping_stride(ons_schedule_grouping(v->s, stage)));
}

/* ONS_NO_COPY: none. */
static uint32_t copy_on(const verifier *v, uint32_t stage, uint32_t device) {
    uint32_t copies = ons_schedule_grouping(v->s, stage).copies, copy = 0;
    while (copy < copies && device_of_copy(v, stage, copy) != device) ++copy;
    return copy < copies ? copy : ONS_NO_COPY;
}

static ons_status *check_action(const verifier *v, uint32_t device, uint32_t i, const ons_action *a) {
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

static ons_status *place(verifier *v, uint32_t device, uint32_t i, const ons_action *a) {
    ONS_TRY(check_action(v, device, i, a));
    const lane l = {.stage = a->stage, .copy = a->copy, .copies = ons_schedule_grouping(v->s, a->stage).copies};
    uint32_t *p = position(v, &l, a->micro_batch, a->kind);
    ONS_CHECK(*p == 0, ONS_INVALID_DATA, "device %u, actions %u and %u: %s of stage %u, micro-batch %u comes twice",
              device, *p - 1, i, ons_action_name(a->kind), a->stage, a->micro_batch);
    *p = i + 1;
    v->device_of[a->stage] = (uint32_t)first_device(v->s, device, a);
    if (BIT(a->kind) & COMMUNICATION) v->explicit = true;
    return NULL;
}

static ons_status *place_all(verifier *v, ons_arena *arena) {
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

static ons_status *make_line(verifier *v, ons_arena *arena) {
    ons_stage_edge *line;
    ONS_NEW(line, arena, v->s->stages);
    for (uint32_t i = 0; i + 1 < v->s->stages; ++i)
        line[i] = (ons_stage_edge){i, i + 1, true, false, ons_schedule_ahead(v->s, i, i + 1)};
    v->edges = line;
    v->edge_count = v->s->stages - 1;
    return NULL;
}

static ons_status *make_edges(verifier *v, const ons_stage_edges *edges, ons_arena *arena) {
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

static bool is_local(const verifier *v, const ons_stage_edge *e) {
    return v->device_of[e->from] == v->device_of[e->to];
}

/* ------------------------------------------------------------------------------------------------------------ rules */

/* Sends and receives that a stage must name where they are named. */
static uint32_t wanted_communication(const verifier *v, uint32_t stage) {
    uint32_t wanted = 0;
    for (uint32_t i = v->begin[stage]; i < v->begin[stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        if (is_local(v, e)) continue;
        bool leaves = e->from == stage;
        wanted |= leaves ? BIT(ONS_ACTION_SEND_ACTIVATION) : BIT(ONS_ACTION_RECEIVE_ACTIVATION);
        if (e->gradient) wanted |= leaves ? BIT(ONS_ACTION_RECEIVE_GRADIENT) : BIT(ONS_ACTION_SEND_GRADIENT);
    }
    return wanted;
}

static uint32_t present_kinds(const verifier *v, const lane *l, uint32_t micro_batch) {
    uint32_t present = 0;
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind)
        if (*position(v, l, micro_batch, kind) != 0) present |= BIT(kind);
    return present;
}

static ons_status *check_presence(const verifier *v, const lane *l, uint32_t mb, uint32_t present, uint32_t wanted) {
    ONS_CHECK(present & BIT(ONS_ACTION_FORWARD), ONS_INVALID_DATA, "stage %s, micro-batch %u: forward is missing",
              l->name, mb);
    bool apart = (present & (BIT(ONS_ACTION_INPUT_GRADIENT) | BIT(ONS_ACTION_WEIGHT_GRADIENT))) != 0;
    if (apart)
        ONS_CHECK((present & BIT(ONS_ACTION_INPUT_GRADIENT)) && (present & BIT(ONS_ACTION_WEIGHT_GRADIENT)) &&
                      !(present & BIT(ONS_ACTION_BACKWARD)),
                  ONS_INVALID_DATA,
                  "stage %s, micro-batch %u: either backward, or input gradient and weight gradient, each once",
                  l->name, mb);
    else
        ONS_CHECK(present & BIT(ONS_ACTION_BACKWARD), ONS_INVALID_DATA, "stage %s, micro-batch %u: backward is missing",
                  l->name, mb);
    ONS_CHECK(!(present & BIT(ONS_ACTION_SWAP_OUT)) == !(present & BIT(ONS_ACTION_SWAP_IN)), ONS_INVALID_DATA,
              "stage %s, micro-batch %u: swap out and swap in come together", l->name, mb);
    for (uint32_t kind = 0; v->explicit && kind < ONS_ACTION_COUNT; ++kind)
        ONS_CHECK(!(BIT(kind) & COMMUNICATION & (present ^ wanted)), ONS_INVALID_DATA,
                  "stage %s, micro-batch %u: %s %s", l->name, mb, ons_action_name(kind),
                  wanted & BIT(kind) ? "is missing, though other sends and receives are named"
                                     : "has nothing to carry");
    return NULL;
}

static ons_status *check_order(const verifier *v, const lane *l, uint32_t mb, uint32_t present) {
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind) {
        if (!(present & BIT(kind))) continue;
        for (uint32_t before = 0; before < ONS_ACTION_COUNT; ++before)
            ONS_CHECK(!(present & comes_after[kind] & BIT(before)) ||
                          *position(v, l, mb, before) < *position(v, l, mb, kind),
                      ONS_INVALID_DATA, "stage %s, micro-batch %u: %s stands before %s", l->name, mb,
                      ons_action_name(kind), ons_action_name(before));
    }
    return NULL;
}

/* Where the gradient of the weights is added to that of the micro-batches before. */
static uint32_t gradient_position(const verifier *v, const lane *l, uint32_t mb) {
    uint32_t whole = *position(v, l, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, l, mb, ONS_ACTION_WEIGHT_GRADIENT);
}

static uint32_t input_position(const verifier *v, const lane *l, uint32_t mb) {
    uint32_t whole = *position(v, l, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, l, mb, ONS_ACTION_INPUT_GRADIENT);
}

static ons_status *check_update(const verifier *v, const lane *l, uint32_t mb) {
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

static ons_status *check_copy(const verifier *v, const lane *l) {
    uint32_t wanted = wanted_communication(v, l->stage);
    for (uint32_t mb = 0; mb < l->micro_batches; ++mb) {
        uint32_t present = present_kinds(v, l, mb);
        ONS_TRY(check_presence(v, l, mb, present, wanted));
        ONS_TRY(check_order(v, l, mb, present));
    }
    for (uint32_t mb = 0; mb < l->micro_batches; ++mb) ONS_TRY(check_update(v, l, mb));
    return NULL;
}

static ons_status *check_stage(const verifier *v, uint32_t stage) {
    for (uint32_t copy = 0; copy < ons_schedule_grouping(v->s, stage).copies; ++copy) {
        const lane l = lane_of(v, stage, copy);
        ONS_TRY(check_copy(v, &l));
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- messages */

static channel *channel_of(const verifier *v, uint32_t edge, bool gradient, uint32_t copy) {
    return &v->channels[((size_t)v->first_channel[edge] + copy) * 2 + gradient];
}

static uint32_t sender_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->to : e->from; }
static uint32_t receiver_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->from : e->to; }

/* Who has a unit of a step: a copy of the stage, which counts its own units. */
typedef struct owner {
    uint32_t copy, micro_batch, rank;
} owner;

static owner owner_of(const verifier *v, uint32_t stage, uint32_t unit) {
    ons_stage_grouping g = ons_schedule_grouping(v->s, stage);
    uint32_t number = unit / g.size, micro_batch = number / g.copies;
    return (owner){number % g.copies, micro_batch, micro_batch * g.size + unit % g.size};
}

/* The unit of a step that is the copy's `rank`-th. */
static uint32_t unit_of(const verifier *v, uint32_t stage, uint32_t copy, uint32_t rank) {
    uint32_t size = ons_schedule_grouping(v->s, stage).size;
    return ons_schedule_first_unit(v->s, stage, copy, rank / size) + rank % size;
}

/* How many units have left a copy of the sender: all within a device, else those for which the receiver has room. Room
 * that is there stays, so that counting goes on where it ended. */
static uint32_t placed(const verifier *v, uint32_t edge, bool gradient, uint32_t copy) {
    const ons_stage_edge *e = &v->edges[edge];
    uint32_t sender = sender_of(e, gradient), receiver = receiver_of(e, gradient);
    channel *c = channel_of(v, edge, gradient, copy);
    if (is_local(v, e)) return c->placed = c->sent;
    for (; c->placed < c->sent; ++c->placed) {
        uint32_t unit = unit_of(v, sender, copy, c->placed);
        owner o = owner_of(v, receiver, unit);
        uint32_t wanted = channel_of(v, edge, gradient, o.copy)->wanted;
        if (unit >= (uint64_t)ons_schedule_first_unit(v->s, receiver, o.copy, wanted) + e->ahead) break;
    }
    return c->placed;
}

static void queue_device(verifier *v, uint32_t device) {
    if (v->devices[device].queued) return;
    v->devices[device].queued = true;
    v->queue[v->queued++] = device;
}

typedef enum message_end { SENDS, RECEIVES } message_end;

static void wake_copies(verifier *v, uint32_t stage) {
    uint32_t copies = ons_schedule_grouping(v->s, stage).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) queue_device(v, device_of_copy(v, stage, copy));
}

/* One end of what the copy sends or receives is there: the other device may be able to go on. `local`: within the
 * device, where nothing needs a name. */
static void begin_messages(verifier *v, const ons_action *a, bool gradient, message_end end, bool local) {
    uint32_t size = ons_schedule_grouping(v->s, a->stage).size;
    for (uint32_t i = v->begin[a->stage]; i < v->begin[a->stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        uint32_t here = end == SENDS ? sender_of(e, gradient) : receiver_of(e, gradient);
        uint32_t there = end == SENDS ? receiver_of(e, gradient) : sender_of(e, gradient);
        if (here != a->stage || (gradient && !e->gradient) || is_local(v, e) != local) continue;
        channel *c = channel_of(v, v->of[i], gradient, a->copy);
        if (end == SENDS)
            c->sent += size;
        else
            ++c->wanted;
        wake_copies(v, there);
        /* What had to wait for this room may go before what another copy of the receiver needs. */
        if (end == RECEIVES && ons_schedule_grouping(v->s, here).copies > 1) wake_copies(v, here);
    }
}

static bool takes_gradient(ons_action_kind kind) {
    return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
}

static bool carries(ons_action_kind kind) { return kind == ONS_ACTION_FORWARD || takes_gradient(kind); }

static bool has_come(const verifier *v, const ons_action *a, uint32_t edge, bool gradient) {
    uint32_t first = ons_schedule_first_unit(v->s, a->stage, a->copy, a->micro_batch);
    for (uint32_t i = 0; i < ons_schedule_grouping(v->s, a->stage).size; ++i) {
        owner o = owner_of(v, sender_of(&v->edges[edge], gradient), first + i);
        if (placed(v, edge, gradient, o.copy) <= o.rank) return false;
    }
    return true;
}

/* An edge over which the action has not got what it needs; edge_count where there is none. */
static uint32_t missing_edge(const verifier *v, const ons_action *a) {
    bool gradient = takes_gradient(a->kind);
    for (uint32_t i = v->begin[a->stage]; carries(a->kind) && i < v->begin[a->stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        if (receiver_of(e, gradient) != a->stage || (gradient && !e->gradient)) continue;
        if (!has_come(v, a, v->of[i], gradient)) return v->of[i];
    }
    return v->edge_count;
}

/* An edge, and a direction, over which a device has sent what has no room yet; edge_count where there is none. */
static uint32_t held_edge(const verifier *v, uint32_t device, bool *gradient) {
    for (uint32_t i = 0; i < v->edge_count; ++i)
        for (int back = 0; back < 2; ++back) {
            const ons_stage_edge *e = &v->edges[i];
            *gradient = back == 1;
            uint32_t sender = sender_of(e, *gradient), copy = copy_on(v, sender, device);
            if (e->detached || copy == ONS_NO_COPY) continue;
            if (placed(v, i, *gradient, copy) < channel_of(v, i, *gradient, copy)->sent) return i;
        }
    return v->edge_count;
}

static void begin_named(verifier *v, const ons_action *a) {
    bool gradient = a->kind == ONS_ACTION_SEND_GRADIENT || a->kind == ONS_ACTION_RECEIVE_GRADIENT;
    bool sends = a->kind == ONS_ACTION_SEND_ACTIVATION || a->kind == ONS_ACTION_SEND_GRADIENT;
    begin_messages(v, a, gradient, sends ? SENDS : RECEIVES, false);
}

/* Runs a device's list as far as it goes. */
static void advance(verifier *v, uint32_t device) {
    device_state *d = &v->devices[device];
    const ons_action_list *list = &v->s->lists[device];
    bool gradient;
    for (; d->next < list->count; ++d->next, d->come = false) {
        const ons_action *a = &list->items[d->next];
        if (BIT(a->kind) & COMMUNICATION) {
            begin_named(v, a);
            continue;
        }
        bool moves = carries(a->kind), back = takes_gradient(a->kind);
        if (moves && !v->explicit && !d->come) begin_messages(v, a, back, RECEIVES, false);
        d->come = true;
        if (missing_edge(v, a) < v->edge_count || held_edge(v, device, &gradient) < v->edge_count) return;
        if (moves) begin_messages(v, a, back, SENDS, true);
        if (moves && !v->explicit) begin_messages(v, a, back, SENDS, false);
    }
}

static ons_status *describe_wait(const verifier *v, uint32_t device, uint32_t stuck, uint32_t edge, bool gradient,
                                 bool sends) {
    const ons_action *a = &v->s->lists[device].items[stuck];
    const ons_stage_edge *e = &v->edges[edge];
    uint32_t other = sends ? receiver_of(e, gradient) : sender_of(e, gradient);
    uint32_t which = a->micro_batch;
    if (sends) {
        uint32_t sender = sender_of(e, gradient);
        which = placed(v, edge, gradient, copy_on(v, sender, device)) / ons_schedule_grouping(v->s, sender).size;
    }
    if (is_local(v, e))
        return ons_status_new(ONS_INVALID_DATA,
                              "the schedule hangs: device %u, action %u, %s of stage %u, micro-batch %u needs what "
                              "stage %u computes later on the same device",
                              device, stuck, ons_action_name(a->kind), a->stage, a->micro_batch, other);
    return ons_status_new(ONS_INVALID_DATA,
                          "the schedule hangs with room for %u %s ahead: device %u stands at action %u, %s of "
                          "stage %u, micro-batch %u, waiting to %s the %s of micro-batch %u %s stage %u",
                          e->ahead, ons_schedule_is_grouped(v->s) ? "units" : "messages", device, stuck,
                          ons_action_name(a->kind), a->stage, a->micro_batch, sends ? "send" : "receive",
                          gradient ? "gradient" : "activation", which, sends ? "to" : "from", other);
}

static ons_status *describe_hang(const verifier *v, uint32_t device) {
    const ons_action_list *list = &v->s->lists[device];
    uint32_t next = v->devices[device].next, stuck = next < list->count ? next : list->count - 1;
    const ons_action *a = &list->items[stuck];
    bool gradient;
    uint32_t missing = next < list->count ? missing_edge(v, a) : v->edge_count;
    if (missing < v->edge_count) return describe_wait(v, device, stuck, missing, takes_gradient(a->kind), false);
    uint32_t held = held_edge(v, device, &gradient);
    if (held < v->edge_count) return describe_wait(v, device, stuck, held, gradient, true);
    return ons_status_new(ONS_INVALID_DATA, "the schedule hangs: device %u, action %u, %s of stage %u, micro-batch %u",
                          device, stuck, ons_action_name(a->kind), a->stage, a->micro_batch);
}

static bool is_finished(const verifier *v, uint32_t device) {
    bool gradient;
    return v->devices[device].next == v->s->lists[device].count && held_edge(v, device, &gradient) == v->edge_count;
}

static ons_status *make_channels(verifier *v, ons_arena *arena) {
    uint32_t count = 0;
    ONS_NEW(v->first_channel, arena, v->edge_count);
    for (uint32_t i = 0; i < v->edge_count; ++i) {
        uint32_t from = ons_schedule_grouping(v->s, v->edges[i].from).copies;
        uint32_t to = ons_schedule_grouping(v->s, v->edges[i].to).copies;
        v->first_channel[i] = count;
        count += from > to ? from : to;
    }
    ONS_NEW(v->channels, arena, (size_t)count * 2);
    return NULL;
}

static ons_status *run_lists(verifier *v, ons_arena *arena) {
    uint32_t devices = v->s->devices;
    ONS_TRY(make_channels(v, arena));
    ONS_NEW(v->devices, arena, devices);
    ONS_NEW(v->queue, arena, devices);
    for (uint32_t i = devices; i-- > 0;) queue_device(v, i);
    while (v->queued > 0) {
        uint32_t device = v->queue[--v->queued];
        v->devices[device].queued = false;
        advance(v, device);
    }
    for (uint32_t i = 0; i < devices; ++i)
        if (!is_finished(v, i)) return describe_hang(v, i);
    return NULL;
}

ons_status *ons_schedule_verify(const ons_schedule *schedule, const ons_stage_edges *edges, ons_arena *arena) {
    verifier v = {.s = schedule};
    ONS_TRY(place_all(&v, arena));
    ONS_TRY(make_edges(&v, edges, arena));
    for (uint32_t stage = 0; stage < schedule->stages; ++stage) ONS_TRY(check_stage(&v, stage));
    return run_lists(&v, arena);
}
