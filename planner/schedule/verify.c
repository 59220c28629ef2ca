#include "planner/schedule/schedule.h"

/* The check knows no preset. First the lists are turned into positions, position(stage, micro-batch, kind), and rules
 * are checked on these; then the devices run their lists with messages that wait for their other end. */

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

typedef struct device_state {
    uint32_t next; /* in its list */
    bool come;     /* what the next action reads has been begun */
    bool queued;
} device_state;

/* The messages of one kind over an edge, which pass in ascending order of micro-batches: how many were sent, for how
 * many the receiver has come to the action that reads them (or to the receive that the list names). */
typedef struct channel {
    uint32_t sent, wanted;
} channel;

typedef struct verifier {
    const ons_schedule *s;
    const ons_stage_edge *edges;
    uint32_t edge_count;
    uint32_t *device_of;  /* [stage] */
    uint32_t *positions;  /* [stage][micro-batch][kind]: 1 + position in the device's list; 0: absent */
    bool explicit;        /* the lists name sends and receives */
    uint32_t *begin, *of; /* edges of a stage: of[begin[stage]] to of[begin[stage + 1] - 1] */
    channel *channels;    /* [edge][0: activation, 1: gradient] */
    device_state *devices;
    uint32_t *queue, queued; /* devices that may be able to go on */
} verifier;

/* ------------------------------------------------------------------------------------------------------- positions */

static uint32_t *position(const verifier *v, uint32_t stage, uint32_t micro_batch, ons_action_kind kind) {
    return &v->positions[((size_t)stage * v->s->micro_batches + micro_batch) * ONS_ACTION_COUNT + kind];
}

static ons_status *place(verifier *v, uint32_t device, uint32_t i, const ons_action *a) {
    ONS_CHECK((uint32_t)a->kind < ONS_ACTION_COUNT, ONS_INVALID_DATA, "device %u, action %u: no such kind of action",
              device, i);
    ONS_CHECK(a->stage < v->s->stages && a->micro_batch < v->s->micro_batches, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u; there are %u stages and %u micro-batches", device,
              i, ons_action_name(a->kind), a->stage, a->micro_batch, v->s->stages, v->s->micro_batches);
    ONS_CHECK(v->device_of[a->stage] == device || v->device_of[a->stage] == UINT32_MAX, ONS_INVALID_DATA,
              "stage %u has actions on device %u and on device %u; a stage lies on one device", a->stage,
              v->device_of[a->stage], device);
    ONS_CHECK(!a->halved || a->kind == ONS_ACTION_FORWARD, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u in two halves; only forward parts can be", device,
              i, ons_action_name(a->kind), a->stage, a->micro_batch);
    ONS_CHECK(!a->halved || !v->s->asynchronous, ONS_INVALID_DATA,
              "device %u, action %u: %s of stage %u, micro-batch %u in two halves, which an asynchronous schedule does "
              "not have",
              device, i, ons_action_name(a->kind), a->stage, a->micro_batch);
    uint32_t *p = position(v, a->stage, a->micro_batch, a->kind);
    ONS_CHECK(*p == 0, ONS_INVALID_DATA, "device %u, actions %u and %u: %s of stage %u, micro-batch %u comes twice",
              device, *p - 1, i, ons_action_name(a->kind), a->stage, a->micro_batch);
    *p = i + 1;
    v->device_of[a->stage] = device;
    if (BIT(a->kind) & COMMUNICATION) v->explicit = true;
    return NULL;
}

static ons_status *place_all(verifier *v, ons_arena *arena) {
    const ons_schedule *s = v->s;
    ONS_CHECK(s->stages > 0 && s->micro_batches > 0 && (uint64_t)s->stages * s->micro_batches < UINT32_MAX / 16,
              ONS_INVALID_DATA, "a schedule of %u stages and %u micro-batches: none, or more than can be numbered",
              s->stages, s->micro_batches);
    ONS_NEW(v->positions, arena, (size_t)s->stages * s->micro_batches * ONS_ACTION_COUNT);
    ONS_NEW(v->device_of, arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i) v->device_of[i] = UINT32_MAX;
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) ONS_TRY(place(v, device, i, &s->lists[device].items[i]));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- edges */

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

/* ----------------------------------------------------------------------------------------------------------- rules */

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

static uint32_t present_kinds(const verifier *v, uint32_t stage, uint32_t micro_batch) {
    uint32_t present = 0;
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind)
        if (*position(v, stage, micro_batch, kind) != 0) present |= BIT(kind);
    return present;
}

static ons_status *check_presence(const verifier *v, uint32_t stage, uint32_t mb, uint32_t present, uint32_t wanted) {
    ONS_CHECK(present & BIT(ONS_ACTION_FORWARD), ONS_INVALID_DATA, "stage %u, micro-batch %u: forward is missing",
              stage, mb);
    bool apart = (present & (BIT(ONS_ACTION_INPUT_GRADIENT) | BIT(ONS_ACTION_WEIGHT_GRADIENT))) != 0;
    if (apart)
        ONS_CHECK((present & BIT(ONS_ACTION_INPUT_GRADIENT)) && (present & BIT(ONS_ACTION_WEIGHT_GRADIENT)) &&
                      !(present & BIT(ONS_ACTION_BACKWARD)),
                  ONS_INVALID_DATA,
                  "stage %u, micro-batch %u: either backward, or input gradient and weight gradient, each once", stage,
                  mb);
    else
        ONS_CHECK(present & BIT(ONS_ACTION_BACKWARD), ONS_INVALID_DATA, "stage %u, micro-batch %u: backward is missing",
                  stage, mb);
    ONS_CHECK(!(present & BIT(ONS_ACTION_SWAP_OUT)) == !(present & BIT(ONS_ACTION_SWAP_IN)), ONS_INVALID_DATA,
              "stage %u, micro-batch %u: swap out and swap in come together", stage, mb);
    for (uint32_t kind = 0; v->explicit && kind < ONS_ACTION_COUNT; ++kind)
        ONS_CHECK(!(BIT(kind) & COMMUNICATION & (present ^ wanted)), ONS_INVALID_DATA,
                  "stage %u, micro-batch %u: %s %s", stage, mb, ons_action_name(kind),
                  wanted & BIT(kind) ? "is missing, though other sends and receives are named"
                                     : "has nothing to carry");
    return NULL;
}

static ons_status *check_order(const verifier *v, uint32_t stage, uint32_t mb, uint32_t present) {
    for (uint32_t kind = 0; kind < ONS_ACTION_COUNT; ++kind) {
        if (!(present & BIT(kind))) continue;
        for (uint32_t before = 0; before < ONS_ACTION_COUNT; ++before)
            ONS_CHECK(!(present & comes_after[kind] & BIT(before)) ||
                          *position(v, stage, mb, before) < *position(v, stage, mb, kind),
                      ONS_INVALID_DATA, "stage %u, micro-batch %u: %s stands before %s", stage, mb,
                      ons_action_name(kind), ons_action_name(before));
    }
    return NULL;
}

/* Where the gradient of the weights is added to that of the micro-batches before. */
static uint32_t gradient_position(const verifier *v, uint32_t stage, uint32_t mb) {
    uint32_t whole = *position(v, stage, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, stage, mb, ONS_ACTION_WEIGHT_GRADIENT);
}

static uint32_t input_position(const verifier *v, uint32_t stage, uint32_t mb) {
    uint32_t whole = *position(v, stage, mb, ONS_ACTION_BACKWARD);
    return whole != 0 ? whole : *position(v, stage, mb, ONS_ACTION_INPUT_GRADIENT);
}

static ons_status *check_update(const verifier *v, uint32_t stage, uint32_t mb) {
    bool last = mb + 1 == v->s->micro_batches;
    uint32_t update = *position(v, stage, mb, ONS_ACTION_UPDATE);
    ONS_CHECK(!last || update != 0, ONS_INVALID_DATA, "stage %u: no update follows micro-batch %u, the last one", stage,
              mb);
    if (last) return NULL;
    uint32_t next = gradient_position(v, stage, mb + 1);
    ONS_CHECK(gradient_position(v, stage, mb) < next, ONS_INVALID_DATA,
              "stage %u: the gradient of micro-batch %u stands before that of micro-batch %u; they are added in "
              "ascending order",
              stage, mb + 1, mb);
    ONS_CHECK(
        *position(v, stage, mb, ONS_ACTION_FORWARD) < *position(v, stage, mb + 1, ONS_ACTION_FORWARD) &&
            input_position(v, stage, mb) < input_position(v, stage, mb + 1),
        ONS_INVALID_DATA,
        "stage %u: micro-batch %u overtakes micro-batch %u; places for what waits, and for messages, are taken in "
        "turn",
        stage, mb + 1, mb);
    if (update == 0) return NULL;
    ONS_CHECK(v->s->asynchronous, ONS_INVALID_DATA,
              "stage %u: an update after micro-batch %u, but a synchronous step has one, after its last micro-batch",
              stage, mb);
    ONS_CHECK(update < next, ONS_INVALID_DATA,
              "stage %u: the update of micro-batch %u stands behind the gradient of micro-batch %u", stage, mb, mb + 1);
    return NULL;
}

static ons_status *check_stage(const verifier *v, uint32_t stage) {
    uint32_t wanted = wanted_communication(v, stage);
    for (uint32_t mb = 0; mb < v->s->micro_batches; ++mb) {
        uint32_t present = present_kinds(v, stage, mb);
        ONS_TRY(check_presence(v, stage, mb, present, wanted));
        ONS_TRY(check_order(v, stage, mb, present));
    }
    for (uint32_t mb = 0; mb < v->s->micro_batches; ++mb) ONS_TRY(check_update(v, stage, mb));
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- messages */

static channel *channel_of(const verifier *v, uint32_t edge, bool gradient) {
    return &v->channels[(size_t)edge * 2 + gradient];
}

/* How many messages have left their sender: all within a device, else those for which the receiver has room. */
static uint32_t placed(const verifier *v, uint32_t edge, bool gradient) {
    const ons_stage_edge *e = &v->edges[edge];
    const channel *c = channel_of(v, edge, gradient);
    if (is_local(v, e)) return c->sent;
    uint64_t room = (uint64_t)c->wanted + e->ahead;
    return c->sent < room ? c->sent : (uint32_t)room;
}

static uint32_t sender_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->to : e->from; }
static uint32_t receiver_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->from : e->to; }

static void wake(verifier *v, uint32_t device) {
    if (v->devices[device].queued) return;
    v->devices[device].queued = true;
    v->queue[v->queued++] = device;
}

typedef enum message_end { SENDS, RECEIVES } message_end;

/* One end of what the stage sends or receives is there: the other device may be able to go on. `local`: within the
 * device, where nothing needs a name. */
static void begin_messages(verifier *v, uint32_t stage, bool gradient, message_end end, bool local) {
    for (uint32_t i = v->begin[stage]; i < v->begin[stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        uint32_t here = end == SENDS ? sender_of(e, gradient) : receiver_of(e, gradient);
        uint32_t there = end == SENDS ? receiver_of(e, gradient) : sender_of(e, gradient);
        if (here != stage || (gradient && !e->gradient) || is_local(v, e) != local) continue;
        channel *c = channel_of(v, v->of[i], gradient);
        ++*(end == SENDS ? &c->sent : &c->wanted);
        wake(v, v->device_of[there]);
    }
}

static bool takes_gradient(ons_action_kind kind) {
    return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
}

static bool carries(ons_action_kind kind) { return kind == ONS_ACTION_FORWARD || takes_gradient(kind); }

/* An edge over which the action has not got what it needs; edge_count where there is none. */
static uint32_t missing_edge(const verifier *v, const ons_action *a) {
    bool gradient = takes_gradient(a->kind);
    for (uint32_t i = v->begin[a->stage]; carries(a->kind) && i < v->begin[a->stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        if (receiver_of(e, gradient) != a->stage || (gradient && !e->gradient)) continue;
        if (placed(v, v->of[i], gradient) <= a->micro_batch) return v->of[i];
    }
    return v->edge_count;
}

/* An edge, and a direction, over which a device has sent what has no room yet; edge_count where there is none. */
static uint32_t held_edge(const verifier *v, uint32_t device, bool *gradient) {
    for (uint32_t i = 0; i < v->edge_count; ++i)
        for (int back = 0; back < 2; ++back) {
            const ons_stage_edge *e = &v->edges[i];
            *gradient = back == 1;
            if (e->detached || v->device_of[sender_of(e, *gradient)] != device) continue;
            if (placed(v, i, *gradient) < channel_of(v, i, *gradient)->sent) return i;
        }
    return v->edge_count;
}

static void begin_named(verifier *v, const ons_action *a) {
    bool gradient = a->kind == ONS_ACTION_SEND_GRADIENT || a->kind == ONS_ACTION_RECEIVE_GRADIENT;
    bool sends = a->kind == ONS_ACTION_SEND_ACTIVATION || a->kind == ONS_ACTION_SEND_GRADIENT;
    begin_messages(v, a->stage, gradient, sends ? SENDS : RECEIVES, false);
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
        if (moves && !v->explicit && !d->come) begin_messages(v, a->stage, back, RECEIVES, false);
        d->come = true;
        if (missing_edge(v, a) < v->edge_count || held_edge(v, device, &gradient) < v->edge_count) return;
        if (moves) begin_messages(v, a->stage, back, SENDS, true);
        if (moves && !v->explicit) begin_messages(v, a->stage, back, SENDS, false);
    }
}

static ons_status *describe_wait(const verifier *v, uint32_t device, uint32_t stuck, uint32_t edge, bool gradient,
                                 bool sends) {
    const ons_action *a = &v->s->lists[device].items[stuck];
    const ons_stage_edge *e = &v->edges[edge];
    uint32_t other = sends ? receiver_of(e, gradient) : sender_of(e, gradient);
    uint32_t which = sends ? placed(v, edge, gradient) : a->micro_batch;
    if (is_local(v, e))
        return ons_status_new(ONS_INVALID_DATA,
                              "the schedule hangs: device %u, action %u, %s of stage %u, micro-batch %u needs what "
                              "stage %u computes later on the same device",
                              device, stuck, ons_action_name(a->kind), a->stage, a->micro_batch, other);
    return ons_status_new(ONS_INVALID_DATA,
                          "the schedule hangs with room for %u messages ahead: device %u stands at action %u, %s of "
                          "stage %u, micro-batch %u, waiting to %s the %s of micro-batch %u %s stage %u",
                          e->ahead, device, stuck, ons_action_name(a->kind), a->stage, a->micro_batch,
                          sends ? "send" : "receive", gradient ? "gradient" : "activation", which,
                          sends ? "to" : "from", other);
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

static ons_status *run_lists(verifier *v, ons_arena *arena) {
    uint32_t devices = v->s->devices;
    ONS_NEW(v->channels, arena, (size_t)v->edge_count * 2);
    ONS_NEW(v->devices, arena, devices);
    ONS_NEW(v->queue, arena, devices);
    for (uint32_t i = devices; i-- > 0;) wake(v, i);
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
