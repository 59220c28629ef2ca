#include <math.h>
#include <stdlib.h>

#include "planner/partition/link.h"
#include "planner/simulate/pipeline_adder.h"

/* Of a micro-batch over a link: the activation or its second half, the gradient, the activation's first half. */
enum { PLACES = 3, FIRST_HALF = 2 };

static size_t transfer_index(const ons_pipeline_tasks *x, const ons_pipeline_transfer *t) {
    uint32_t which = t->half ? FIRST_HALF : t->gradient;
    size_t number = t->tie ? (size_t)x->link_count + t->link : t->link;
    return (number * x->micro_batches + t->unit) * PLACES + which;
}

size_t ons_pipeline_transfer_places(const ons_pipeline_tasks *x) {
    return ((size_t)x->link_count + x->tie_count) * x->micro_batches * PLACES;
}

/* Tests whether halves go over the link one by one: both of its ends compute them so. Such a step has no units larger
 * than a micro-batch. */
static bool is_halved(const ons_pipeline_tasks *x, uint32_t link, uint32_t unit) {
    const ons_stage_link *l = &x->links[link];
    return x->halved[(size_t)l->from * x->micro_batches + unit] && x->halved[(size_t)l->to * x->micro_batches + unit];
}

/* The copy of a stage that computes a unit, as an action does it. */
static ons_action owner_of(const ons_pipeline_tasks *x, uint32_t stage, uint32_t unit) {
    ons_stage_grouping g = ons_schedule_grouping(x->schedule, stage);
    uint32_t number = unit / g.size;
    return (ons_action){.stage = stage, .copy = number % g.copies, .micro_batch = number / g.copies};
}

/* The device that computes a unit in a stage. */
static uint32_t device_of(const ons_pipeline_tasks *x, uint32_t stage, uint32_t unit) {
    return ons_schedule_device(x->schedule, stage, owner_of(x, stage, unit).copy);
}

static ons_link_cost link_between(const ons_pipeline_tasks *x, uint32_t stage, uint32_t other, uint32_t unit) {
    return ons_link_between(x->split.problem, device_of(x, stage, unit), device_of(x, other, unit));
}

static uint32_t size_of(const ons_pipeline_tasks *x, uint32_t stage) {
    return ons_schedule_grouping(x->schedule, stage).size;
}

/* What a transfer over a link is, without its streams. */
static ons_task_spec describe_transfer(const ons_pipeline_tasks *x, const ons_pipeline_transfer *t,
                                       ons_link_cost cost) {
    if (t->tie)
        return (ons_task_spec){.name = "tied gradients",
                               .action = {.kind = ONS_ACTION_ALL_REDUCE, .micro_batch = x->micro_batches - 1},
                               .seconds = ons_link_seconds(cost, x->ties[t->link].bytes)};
    const ons_stage_link *link = &x->links[t->link];
    uint32_t sender = t->gradient ? link->to : link->from, receiver = t->gradient ? link->from : link->to;
    uint32_t units = ons_stage_link_units(x->schedule, link, t->unit);
    int64_t bytes = ons_stage_link_bytes(x->schedule, link, t->gradient, t->unit);
    int64_t freed = ons_stage_link_share(t->gradient ? link->gradient_bytes : link->freed_bytes, size_of(x, sender),
                                         t->unit, units);
    int64_t taken = ons_stage_link_share(t->gradient ? link->taken_gradient_bytes : link->taken_bytes,
                                         size_of(x, receiver), t->unit, units);
    if (!t->gradient && is_halved(x, t->link, t->unit)) {
        taken = bytes = t->half ? bytes / 2 : bytes - bytes / 2;
        freed = t->half ? freed / 2 : freed - freed / 2;
    }
    ons_action action = owner_of(x, sender, t->unit);
    action.kind = t->gradient ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION;
    return (ons_task_spec){.name = t->gradient ? "gradient" : "activation",
                           .action = action,
                           .seconds = ons_link_seconds(cost, bytes),
                           .start_bytes = taken,
                           .second_end_bytes = -freed};
}

/* What travels beside others then lies outside of the receiver's memory until there is room for it there. */
static ons_status *add_arrival(ons_pipeline_adder *a, ons_task_id sent, ons_action receiver, double seconds,
                               int64_t bytes, ons_task_id *id) {
    uint32_t device = ons_schedule_device(a->x->schedule, receiver.stage, receiver.copy);
    ons_task_spec spec = {
        .name = "on its way",
        .action = receiver,
        .resource = ons_device_stream(device, ONS_STREAM_LOCAL),
        .second_resource = ONS_NO_RESOURCE,
        .seconds = seconds,
    };
    ons_task_id travel;
    ONS_TRY(ons_simulation_add_task(a->s, &spec, &travel));
    ONS_TRY(ons_adder_wait(a, travel, sent));
    spec.name = "arrival";
    spec.seconds = 0;
    spec.start_bytes = bytes;
    ONS_TRY(ons_simulation_add_task(a->s, &spec, id));
    return ons_adder_wait(a, *id, travel);
}

/* Adds a transfer as one task on both devices' streams. Within a device it takes no time. What leaves without asking
 * holds the streams for its bytes alone: the latency is a task of its own beside them, and memory is taken at its end.
 */
static ons_status *add_transfer(ons_pipeline_adder *a, const ons_pipeline_transfer *t) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t early = t->tie ? x->ties[t->link].first : x->links[t->link].from;
    uint32_t late = t->tie ? x->ties[t->link].second : x->links[t->link].to;
    uint32_t sender = t->gradient ? late : early, receiver = t->gradient ? early : late;
    uint32_t from = device_of(x, sender, t->unit), to = device_of(x, receiver, t->unit);
    ons_link_cost cost = link_between(x, early, late, t->unit);
    ons_task_spec spec = describe_transfer(x, t, cost);
    spec.action.stage = sender;
    spec.resource = ons_device_stream(to, from == to ? ONS_STREAM_LOCAL : ONS_STREAM_RECEIVE);
    spec.second_resource = ons_device_stream(from, from == to ? ONS_STREAM_LOCAL : ONS_STREAM_SEND);
    if (from == to) spec.seconds = 0;
    if (a->free_links) spec.resource = spec.second_resource = ONS_NO_RESOURCE;
    ons_task_id *task = &a->transfers[transfer_index(x, t)], *arrival = &a->arrivals[transfer_index(x, t)];
    int64_t bytes = spec.start_bytes;
    bool travels = !t->tie && from != to && ons_link_overlaps(cost);
    if (travels) {
        spec.start_bytes = 0;
        spec.seconds = fmax(spec.seconds - ons_link_travel(cost), 0);
    }
    ONS_TRY(ons_simulation_add_task(a->s, &spec, task));
    *arrival = *task;
    if (!travels) return NULL;
    ons_action comes = owner_of(x, receiver, t->unit);
    comes.kind = t->gradient ? ONS_ACTION_RECEIVE_GRADIENT : ONS_ACTION_RECEIVE_ACTIVATION;
    return add_arrival(a, *task, comes, ons_link_travel(cost), bytes, arrival);
}

static ons_status *add_transfers(ons_pipeline_adder *a, const ons_pipeline_transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; ++i) ONS_TRY(add_transfer(a, &transfers[i]));
    return NULL;
}

/* One way over a link: what its messages wait for, and who waits for them. */
typedef struct way {
    ons_pipeline_adder *a;
    const ons_stage_link *link;
    uint32_t number; /* of the link */
    bool gradient, local;
    uint32_t sender, receiver;
    uint32_t places;              /* micro-batches of a copy of the sender */
    uint32_t ahead;               /* micro-batches of a copy of the receiver */
    const uint32_t *sent, *taken; /* orders */
    const ons_task_id *before;    /* by ons_pipeline_place */
    const ons_message_ends *ends; /* where parts make and read what goes */
} way;

/* Tests whether the message that begins with the unit is one for which the sender asks the receiver first. */
static bool asks(const way *w, uint32_t unit) {
    const ons_pipeline_tasks *x = w->a->x;
    return ons_link_asks(link_between(x, w->link->from, w->link->to, unit),
                         ons_stage_link_bytes(x->schedule, w->link, w->gradient, unit));
}

/* In how many places a sender keeps what has not gone. A stage may be as far ahead as the receiver's stage is behind
 * it, and one more; where it asks before it sends, it goes on when the answer has come, unless it keeps the value. */
static uint32_t count_places(const way *w, uint32_t ahead) {
    uint32_t apart = w->link->to - w->link->from;
    if (asks(w, 0) && apart == 1 && (w->gradient || w->link->freed_bytes > 0)) return 1;
    return 1 + (apart > ahead ? apart : ahead);
}

/* Looks up what is the same for all micro-batches over the link, one way. */
static way make_way(ons_pipeline_adder *a, uint32_t number, bool gradient) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_link *link = &x->links[number];
    way w = {.a = a, .link = link, .number = number, .gradient = gradient};
    w.ends = gradient ? &link->gradient_ends : &link->ends;
    w.sender = gradient ? link->to : link->from;
    w.receiver = gradient ? link->from : link->to;
    w.local = device_of(x, link->from, 0) == device_of(x, link->to, 0);
    uint32_t ahead = ons_schedule_ahead(x->schedule, link->from, link->to);
    w.places = count_places(&w, ons_schedule_in_micro_batches(x->schedule, w.sender, ahead));
    w.ahead = ons_schedule_in_micro_batches(x->schedule, w.receiver, ahead);
    w.sent = w.taken = gradient ? x->backward_order : x->forward_order;
    w.before = gradient ? x->before_backward : x->before_forward;
    return w;
}

static size_t index_of(const way *w, uint32_t unit) {
    return transfer_index(w->a->x, &(ons_pipeline_transfer){.link = w->number, .unit = unit, .gradient = w->gradient});
}

/* Units of a copy's micro-batch, whose messages follow each other. */
typedef struct units {
    uint32_t at, end;
} units;

static units units_of(const way *w, uint32_t stage, uint32_t copy, uint32_t micro_batch) {
    uint32_t first = ons_schedule_first_unit(w->a->x->schedule, stage, copy, micro_batch);
    return (units){first, first + size_of(w->a->x, stage)};
}

static void go_on(const way *w, units *u) { u->at += ons_stage_link_units(w->a->x->schedule, w->link, u->at); }

/* The first task of the part; a first half is one task. */
static ons_task_id first_of(const way *w, uint32_t stage, size_t place) {
    const ons_pipeline_tasks *x = w->a->x;
    return !w->gradient && x->halved[place] ? x->forward_half[place]
                                            : ons_pipeline_pieces(x, stage, place, w->gradient)[0];
}

/* The piece that reads what comes for the first time. */
static ons_task_id reader_of(const way *w, size_t place) {
    return ons_pipeline_pieces(w->a->x, w->receiver, place, w->gradient)[w->ends->read_by];
}

/* The transfer starts when what it takes has been made. */
static ons_status *wait_for_maker(const way *w, size_t place, ons_task_id transfer) {
    const ons_pipeline_tasks *x = w->a->x;
    double early = w->ends->early_seconds;
    if (!w->gradient && x->halved[place]) early /= 2;
    if (w->gradient && x->apart[place]) early -= w->ends->early_weight_seconds;
    ons_task_id maker = ons_pipeline_pieces(x, w->sender, place, w->gradient)[w->ends->made_by];
    return ons_simulation_add_dependency(w->a->s, maker, transfer, early > 0 ? -early : 0);
}

/* The messages of the copy's i-th micro-batch go when they are made; and it is made when there is a place for it. */
static ons_status *connect_sender(const way *w, uint32_t copy, uint32_t i) {
    ons_pipeline_adder *a = w->a;
    size_t base = ons_pipeline_place(a->x, w->sender, copy), place = base + w->sent[base + i];
    for (units u = units_of(w, w->sender, copy, w->sent[base + i]); u.at < u.end; go_on(w, &u)) {
        size_t goes = index_of(w, u.at);
        bool halved = !w->gradient && is_halved(a->x, w->number, u.at);
        ONS_TRY(wait_for_maker(w, place, a->transfers[goes]));
        if (halved) ONS_TRY(ons_adder_wait(a, a->transfers[goes + FIRST_HALF], a->x->forward_half[place]));
    }
    if (i < w->places || w->local) return NULL;
    for (units u = units_of(w, w->sender, copy, w->sent[base + i - w->places]); u.at < u.end; go_on(w, &u))
        ONS_TRY(ons_adder_wait(a, first_of(w, w->sender, place), a->transfers[index_of(w, u.at)]));
    return NULL;
}

/* The copy's i-th micro-batch waits for its messages, and these for room.
 *
 * A receiver has room for one micro-batch ahead: the next may come when the one before is about to be computed. Where a
 * sender asks, the answer comes when there are places for all that may wait, and the message is taken in like any
 * other. Within a device nothing is sent: there are places for all that its lists keep. */
static ons_status *connect_receiver(const way *w, uint32_t copy, uint32_t i) {
    ons_pipeline_adder *a = w->a;
    size_t base = ons_pipeline_place(a->x, w->receiver, copy), place = base + w->taken[base + i];
    bool in_halves = !w->gradient && a->x->halved[place];
    for (units u = units_of(w, w->receiver, copy, w->taken[base + i]); u.at < u.end; go_on(w, &u)) {
        size_t comes = index_of(w, u.at);
        bool halved = !w->gradient && is_halved(a->x, w->number, u.at);
        /* The first half comes to the place of the whole; the second finds it there. */
        size_t first = halved ? comes + FIRST_HALF : comes;
        ONS_TRY(
            ons_adder_wait(a, in_halves ? first_of(w, w->receiver, place) : reader_of(w, place), a->arrivals[first]));
        if (halved) ONS_TRY(ons_adder_wait(a, reader_of(w, place), a->arrivals[comes]));
        if (i >= 1 && !w->local)
            ONS_TRY(ons_adder_wait(a, a->arrivals[first], w->before[base + w->taken[base + i - 1]]));
        if (halved) ONS_TRY(ons_adder_wait(a, a->arrivals[comes], a->arrivals[first]));
        if (i >= w->ahead && !w->local && asks(w, u.at))
            ONS_TRY(ons_adder_wait(a, a->transfers[first], w->before[base + w->taken[base + i - w->ahead]]));
    }
    return NULL;
}

/* Counts the micro-batches of both ends by their turn in the lists: the i-th one that a copy makes need not be the i-th
 * one that another copy reads. */
static ons_status *connect_link(ons_pipeline_adder *a, uint32_t number, bool gradient) {
    const way w = make_way(a, number, gradient);
    const ons_schedule *s = a->x->schedule;
    uint32_t senders = ons_schedule_grouping(s, w.sender).copies,
             receivers = ons_schedule_grouping(s, w.receiver).copies;
    uint32_t sent = ons_schedule_copy_micro_batches(s, w.sender);
    uint32_t taken = ons_schedule_copy_micro_batches(s, w.receiver);
    for (uint32_t i = 0; i < sent || i < taken; ++i) {
        for (uint32_t copy = 0; i < sent && copy < senders; ++copy) ONS_TRY(connect_sender(&w, copy, i));
        for (uint32_t copy = 0; i < taken && copy < receivers; ++copy) ONS_TRY(connect_receiver(&w, copy, i));
    }
    return NULL;
}

/* A stage's copies add their gradients up when all of them have theirs. */
static ons_status *connect_copies(ons_pipeline_adder *a, uint32_t stage) {
    uint32_t copies = ons_schedule_grouping(a->x->schedule, stage).copies, first = a->x->first_copy[stage];
    for (uint32_t i = 0; copies > 1 && i < copies; ++i)
        for (uint32_t k = 0; k < copies; ++k)
            if (k != i) ONS_TRY(ons_adder_wait(a, a->sum[first + i], a->gradient_last[first + k]));
    return NULL;
}

static ons_pipeline_transfer tie_of(const ons_pipeline_tasks *x, uint32_t number, uint32_t copy, bool up) {
    uint32_t unit = ons_schedule_first_unit(x->schedule, x->ties[number].first, copy, 0);
    return (ons_pipeline_transfer){.tie = true, .link = number, .unit = unit, .gradient = up};
}

/* What a stage has to give: its own gradients, or the sum over its copies. */
static ons_status *wait_for_gradients(ons_pipeline_adder *a, uint32_t stage, uint32_t number, ons_task_id task) {
    bool summed = ons_schedule_grouping(a->x->schedule, stage).copies > 1 && a->x->stages[stage].reduce_seconds > 0;
    return ons_adder_wait(a, task, summed ? a->sum[number] : a->gradient_last[number]);
}

/* Each of two stages that share weights adds the other's gradients to its own before it updates. They exchange them
 * when both have all of theirs, so that nothing large stands in the way of the pipeline's own transfers. */
static ons_status *connect_tie(ons_pipeline_adder *a, uint32_t number, uint32_t copy) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_tie *tie = &x->ties[number];
    uint32_t first = x->first_copy[tie->first] + copy, second = x->first_copy[tie->second] + copy;
    for (int up = 0; up < 2; ++up) {
        const ons_pipeline_transfer t = tie_of(x, number, copy, up != 0);
        ons_task_id task = a->transfers[transfer_index(x, &t)];
        ONS_TRY(wait_for_gradients(a, tie->first, first, task));
        ONS_TRY(wait_for_gradients(a, tie->second, second, task));
        ONS_TRY(ons_adder_wait(a, a->update[up ? first : second], task));
    }
    return NULL;
}

static ons_status *connect_ties(ons_pipeline_adder *a, uint32_t number) {
    uint32_t copies = ons_schedule_grouping(a->x->schedule, a->x->ties[number].first).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) ONS_TRY(connect_tie(a, number, copy));
    return NULL;
}

static ons_status *connect_links(ons_pipeline_adder *a) {
    for (uint32_t i = 0; i < a->x->link_count; ++i) {
        ONS_TRY(connect_link(a, i, false));
        if (a->x->links[i].gradient) ONS_TRY(connect_link(a, i, true));
    }
    for (uint32_t i = 0; i < a->x->tie_count; ++i) ONS_TRY(connect_ties(a, i));
    for (uint32_t i = 0; i < a->x->split.stages; ++i) ONS_TRY(connect_copies(a, i));
    return NULL;
}

ons_status *ons_pipeline_transfers_add(ons_pipeline_adder *a, const ons_pipeline_transfer *list, size_t count) {
    ONS_TRY(add_transfers(a, list, count));
    return connect_links(a);
}

/* -------------------------------------------------------------------------------------------------------- the order */

static int by_start(const void *left, const void *right) {
    const ons_pipeline_transfer *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void ons_pipeline_transfers_sort(const ons_pipeline_adder *a, ons_pipeline_transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        ons_task_id task = a->transfers[transfer_index(a->x, &transfers[i])];
        transfers[i].start = ons_simulation_times(a->s, task).start;
        transfers[i].order = ons_simulation_order(a->s, task);
    }
    qsort(transfers, count, sizeof *transfers, by_start);
}

ons_status *ons_pipeline_transfers_list(const ons_pipeline_tasks *x, ons_arena *arena, ons_pipeline_transfer **list,
                                        size_t *count) {
    ONS_NEW(*list, arena, ons_pipeline_transfer_places(x));
    *count = 0;
    for (uint32_t link = 0; link < x->link_count; ++link)
        for (uint32_t i = 0; i < x->micro_batches; i += ons_stage_link_units(x->schedule, &x->links[link], i)) {
            if (is_halved(x, link, i))
                (*list)[(*count)++] = (ons_pipeline_transfer){.link = link, .unit = i, .half = true};
            for (int gradient = 0; gradient <= (int)x->links[link].gradient; ++gradient)
                (*list)[(*count)++] = (ons_pipeline_transfer){.link = link, .unit = i, .gradient = gradient != 0};
        }
    for (uint32_t tie = 0; tie < x->tie_count; ++tie)
        for (uint32_t copy = 0; copy < ons_schedule_grouping(x->schedule, x->ties[tie].first).copies; ++copy)
            for (int up = 0; up < 2; ++up) (*list)[(*count)++] = tie_of(x, tie, copy, up != 0);
    return NULL;
}
