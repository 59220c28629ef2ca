/* Devices run their lists with messages that wait for their other end. Messages are counted in units, which are whole
 * micro-batches where all stages take the same. */
#include "planner/schedule/verify_state.h"

static ons_message_channel *channel_of(const ons_verifier *v, uint32_t edge, bool gradient, uint32_t copy) {
    return &v->channels[((size_t)v->first_channel[edge] + copy) * 2 + gradient];
}

static uint32_t sender_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->to : e->from; }
static uint32_t receiver_of(const ons_stage_edge *e, bool gradient) { return gradient ? e->from : e->to; }

/* Who has a unit of a step: a copy of the stage, which counts its own units. */
typedef struct owner {
    uint32_t copy, micro_batch, rank;
} owner;

static owner owner_of(const ons_verifier *v, uint32_t stage, uint32_t unit) {
    ons_stage_grouping g = ons_schedule_grouping(v->s, stage);
    uint32_t number = unit / g.size, micro_batch = number / g.copies;
    return (owner){number % g.copies, micro_batch, micro_batch * g.size + unit % g.size};
}

/* The unit of a step that is the copy's `rank`-th. */
static uint32_t unit_of(const ons_verifier *v, uint32_t stage, uint32_t copy, uint32_t rank) {
    uint32_t size = ons_schedule_grouping(v->s, stage).size;
    return ons_schedule_first_unit(v->s, stage, copy, rank / size) + rank % size;
}

/* How many units have left a copy of the sender: all within a device, else those for which the receiver has room. Room
 * that is there stays, so that counting goes on where it ended. */
static uint32_t placed(const ons_verifier *v, uint32_t edge, bool gradient, uint32_t copy) {
    const ons_stage_edge *e = &v->edges[edge];
    uint32_t sender = sender_of(e, gradient), receiver = receiver_of(e, gradient);
    ons_message_channel *c = channel_of(v, edge, gradient, copy);
    if (ons_verifier_is_local(v, e)) return c->placed = c->sent;
    for (; c->placed < c->sent; ++c->placed) {
        uint32_t unit = unit_of(v, sender, copy, c->placed);
        owner o = owner_of(v, receiver, unit);
        uint32_t wanted = channel_of(v, edge, gradient, o.copy)->wanted;
        if (unit >= (uint64_t)ons_schedule_first_unit(v->s, receiver, o.copy, wanted) + e->ahead) break;
    }
    return c->placed;
}

static void queue_device(ons_verifier *v, uint32_t device) {
    if (v->devices[device].queued) return;
    v->devices[device].queued = true;
    v->queue[v->queued++] = device;
}

typedef enum message_end { SENDS, RECEIVES } message_end;

static void wake_copies(ons_verifier *v, uint32_t stage) {
    uint32_t copies = ons_schedule_grouping(v->s, stage).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) queue_device(v, ons_verifier_device_of(v, stage, copy));
}

/* One end of what the copy sends or receives is there: the other device may be able to go on. `local`: within the
 * device, where nothing needs a name. */
static void begin_messages(ons_verifier *v, const ons_action *a, bool gradient, message_end end, bool local) {
    uint32_t size = ons_schedule_grouping(v->s, a->stage).size;
    for (uint32_t i = v->begin[a->stage]; i < v->begin[a->stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        uint32_t here = end == SENDS ? sender_of(e, gradient) : receiver_of(e, gradient);
        uint32_t there = end == SENDS ? receiver_of(e, gradient) : sender_of(e, gradient);
        if (here != a->stage || (gradient && !e->gradient) || ons_verifier_is_local(v, e) != local) continue;
        ons_message_channel *c = channel_of(v, v->of[i], gradient, a->copy);
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

/* Tests whether every unit of the micro-batch has come over the edge, from whichever copies of the sender make them. */
static bool has_come(const ons_verifier *v, const ons_action *a, uint32_t edge, bool gradient) {
    uint32_t first = ons_schedule_first_unit(v->s, a->stage, a->copy, a->micro_batch);
    for (uint32_t i = 0; i < ons_schedule_grouping(v->s, a->stage).size; ++i) {
        owner o = owner_of(v, sender_of(&v->edges[edge], gradient), first + i);
        if (placed(v, edge, gradient, o.copy) <= o.rank) return false;
    }
    return true;
}

/* An edge over which the action has not got what it needs; edge_count where there is none. */
static uint32_t missing_edge(const ons_verifier *v, const ons_action *a) {
    bool gradient = takes_gradient(a->kind);
    for (uint32_t i = v->begin[a->stage]; carries(a->kind) && i < v->begin[a->stage + 1]; ++i) {
        const ons_stage_edge *e = &v->edges[v->of[i]];
        if (receiver_of(e, gradient) != a->stage || (gradient && !e->gradient)) continue;
        if (!has_come(v, a, v->of[i], gradient)) return v->of[i];
    }
    return v->edge_count;
}

/* An edge, and a direction, over which a device has sent what has no room yet; edge_count where there is none. */
static uint32_t held_edge(const ons_verifier *v, uint32_t device, bool *gradient) {
    for (uint32_t i = 0; i < v->edge_count; ++i)
        for (int back = 0; back < 2; ++back) {
            const ons_stage_edge *e = &v->edges[i];
            *gradient = back == 1;
            uint32_t sender = sender_of(e, *gradient), copy = ons_verifier_copy_on(v, sender, device);
            if (e->detached || copy == ONS_NO_COPY) continue;
            if (placed(v, i, *gradient, copy) < channel_of(v, i, *gradient, copy)->sent) return i;
        }
    return v->edge_count;
}

static void begin_named(ons_verifier *v, const ons_action *a) {
    bool gradient = a->kind == ONS_ACTION_SEND_GRADIENT || a->kind == ONS_ACTION_RECEIVE_GRADIENT;
    bool sends = a->kind == ONS_ACTION_SEND_ACTIVATION || a->kind == ONS_ACTION_SEND_GRADIENT;
    begin_messages(v, a, gradient, sends ? SENDS : RECEIVES, false);
}

/* Runs a device's list as far as it goes. */
static void advance(ons_verifier *v, uint32_t device) {
    ons_device_state *d = &v->devices[device];
    const ons_action_list *list = &v->s->lists[device];
    bool gradient;
    for (; d->next < list->count; ++d->next, d->come = false) {
        const ons_action *a = &list->items[d->next];
        if (ONS_BIT(a->kind) & ONS_COMMUNICATION) {
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

/* Says in words what a device stands at and for which message, and in which direction, it waits. */
static ons_status *describe_wait(const ons_verifier *v, uint32_t device, uint32_t stuck, uint32_t edge, bool gradient,
                                 bool sends) {
    const ons_action *a = &v->s->lists[device].items[stuck];
    const ons_stage_edge *e = &v->edges[edge];
    uint32_t other = sends ? receiver_of(e, gradient) : sender_of(e, gradient);
    uint32_t which = a->micro_batch;
    if (sends) {
        uint32_t sender = sender_of(e, gradient);
        which = placed(v, edge, gradient, ons_verifier_copy_on(v, sender, device)) /
                ons_schedule_grouping(v->s, sender).size;
    }
    if (ons_verifier_is_local(v, e))
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

static ons_status *describe_hang(const ons_verifier *v, uint32_t device) {
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

static bool is_finished(const ons_verifier *v, uint32_t device) {
    bool gradient;
    return v->devices[device].next == v->s->lists[device].count && held_edge(v, device, &gradient) == v->edge_count;
}

static ons_status *make_channels(ons_verifier *v, ons_arena *arena) {
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

ons_status *ons_schedule_run_lists(ons_verifier *v, ons_arena *arena) {
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
