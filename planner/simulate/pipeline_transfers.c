#include <math.h>
#include <stdlib.h>

#include "planner/partition/link.h"
#include "planner/simulate/pipeline_adder.h"

/* Of a micro-batch over a link: the activation or its second half, the gradient, the activation's first half. */
enum { PLACES = 3, FIRST_HALF = 2 };

static size_t transfer_index(const ons_pipeline_tasks *x, const ons_pipeline_transfer *t) {
    uint32_t which = t->half ? FIRST_HALF : t->gradient;
    if (t->tie) return ((size_t)x->link_count * x->micro_batches + t->link) * PLACES + which;
    return ((size_t)t->link * x->micro_batches + t->micro_batch) * PLACES + which;
}

size_t ons_pipeline_transfer_places(const ons_pipeline_tasks *x) {
    return ((size_t)x->link_count * x->micro_batches + x->tie_count) * PLACES;
}

/* Tests whether halves go over the link one by one: both of its ends compute them so. */
static bool is_halved(const ons_pipeline_tasks *x, uint32_t link, uint32_t micro_batch) {
    const ons_stage_link *l = &x->links[link];
    return x->halved[(size_t)l->from * x->micro_batches + micro_batch] &&
           x->halved[(size_t)l->to * x->micro_batches + micro_batch];
}

static ons_link_cost link_between(const ons_pipeline_tasks *x, uint32_t stage, uint32_t other) {
    return ons_link_between(x->split.problem, x->schedule->device_of[stage], x->schedule->device_of[other]);
}

/* What a transfer over a link is, without its streams. */
static ons_task_spec describe_transfer(const ons_pipeline_tasks *x, const ons_pipeline_transfer *t,
                                       ons_link_cost cost) {
    if (t->tie)
        return (ons_task_spec){.name = "tied gradients",
                               .action = {.kind = ONS_ACTION_ALL_REDUCE, .micro_batch = x->micro_batches - 1},
                               .seconds = ons_link_seconds(cost, x->ties[t->link].bytes)};
    const ons_stage_link *link = &x->links[t->link];
    int64_t bytes = t->gradient ? link->gradient_bytes : link->bytes;
    int64_t freed = t->gradient ? link->gradient_bytes : link->freed_bytes;
    if (!t->gradient && is_halved(x, t->link, t->micro_batch)) {
        bytes = t->half ? bytes / 2 : bytes - bytes / 2;
        freed = t->half ? freed / 2 : freed - freed / 2;
    }
    return (ons_task_spec){.name = t->gradient ? "gradient" : "activation",
                           .action = {.kind = t->gradient ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION,
                                      .micro_batch = t->micro_batch},
                           .seconds = ons_link_seconds(cost, bytes),
                           .start_bytes = bytes,
                           .second_end_bytes = -freed};
}

/* What travels beside others then lies outside of the receiver's memory until there is room for it there. */
static ons_status *add_arrival(ons_pipeline_adder *a, ons_task_id sent, const ons_task_spec *send, uint32_t receiver,
                               double seconds, int64_t bytes, ons_task_id *id) {
    bool gradient = send->action.kind == ONS_ACTION_SEND_GRADIENT;
    ons_task_spec spec = {
        .name = "on its way",
        .action = {.kind = gradient ? ONS_ACTION_RECEIVE_GRADIENT : ONS_ACTION_RECEIVE_ACTIVATION,
                   .stage = receiver,
                   .micro_batch = send->action.micro_batch},
        .resource = ons_device_stream(a->x->schedule->device_of[receiver], ONS_STREAM_LOCAL),
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

static ons_status *add_transfer(ons_pipeline_adder *a, const ons_pipeline_transfer *t) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t early = t->tie ? x->ties[t->link].first : x->links[t->link].from;
    uint32_t late = t->tie ? x->ties[t->link].second : x->links[t->link].to;
    uint32_t sender = t->gradient ? late : early, receiver = t->gradient ? early : late;
    uint32_t from = x->schedule->device_of[sender], to = x->schedule->device_of[receiver];
    ons_link_cost cost = link_between(x, early, late);
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
    return travels ? add_arrival(a, *task, &spec, receiver, ons_link_travel(cost), bytes, arrival) : NULL;
}

static ons_status *add_transfers(ons_pipeline_adder *a, const ons_pipeline_transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; ++i) ONS_TRY(add_transfer(a, &transfers[i]));
    return NULL;
}

/* In how many places a sender keeps what has not gone. A stage may be as far ahead as the receiver's stage is behind
 * it, and one more; where it asks before it sends, it goes on when the answer has come, unless it keeps the value. */
static uint32_t count_places(const ons_pipeline_tasks *x, const ons_stage_link *link, bool gradient, uint32_t ahead) {
    uint32_t apart = link->to - link->from;
    bool asks = ons_link_asks(link_between(x, link->from, link->to), gradient ? link->gradient_bytes : link->bytes);
    if (asks && apart == 1 && (gradient || link->freed_bytes > 0)) return 1;
    return 1 + (apart > ahead ? apart : ahead);
}

/* One way over a link: the sender and the receiver, and where their parts make and read what goes. */
typedef struct way {
    uint32_t sender, receiver;
    bool gradient;
    const ons_message_ends *ends;
} way;

static way way_over(const ons_stage_link *link, bool gradient) {
    if (gradient) return (way){link->to, link->from, true, &link->gradient_ends};
    return (way){link->from, link->to, false, &link->ends};
}

static ons_task_id piece_of(const ons_pipeline_tasks *x, const way *w, uint32_t stage, uint32_t micro_batch,
                            uint32_t piece) {
    if (w->gradient) return x->backward[stage][(size_t)micro_batch * x->stages[stage].backward_count + piece];
    return x->forward[stage][(size_t)micro_batch * x->stages[stage].forward_count + piece];
}

/* The first task of the part; a first half is one task. */
static ons_task_id first_of(const ons_pipeline_tasks *x, const way *w, uint32_t stage, uint32_t micro_batch) {
    size_t at = (size_t)stage * x->micro_batches + micro_batch;
    return !w->gradient && x->halved[at] ? x->forward_half[at] : piece_of(x, w, stage, micro_batch, 0);
}

/* The task that waits for what comes. */
static ons_task_id reader_of(const ons_pipeline_tasks *x, const way *w, uint32_t micro_batch) {
    if (!w->gradient && x->halved[(size_t)w->receiver * x->micro_batches + micro_batch])
        return first_of(x, w, w->receiver, micro_batch);
    return piece_of(x, w, w->receiver, micro_batch, w->ends->read_by);
}

/* The transfer starts when what it takes has been made. */
static ons_status *wait_for_maker(ons_pipeline_adder *a, const way *w, uint32_t micro_batch, ons_task_id transfer) {
    const ons_pipeline_tasks *x = a->x;
    size_t at = (size_t)w->sender * x->micro_batches + micro_batch;
    double early = w->ends->early_seconds;
    if (!w->gradient && x->halved[at]) early /= 2;
    if (w->gradient && x->apart[at]) early -= w->ends->early_weight_seconds;
    return ons_simulation_add_dependency(a->s, piece_of(x, w, w->sender, micro_batch, w->ends->made_by), transfer,
                                         early > 0 ? -early : 0);
}

/* What a link's transfers wait for, and who waits for them; in the order in which the stages at its ends compute.
 *
 * A receiver has room for one micro-batch ahead: the next may come when the one before is about to be computed. Where a
 * sender asks, the answer comes when there are places for all that may wait, and the message is taken in like any
 * other. Within a device nothing is sent: there are places for all that its lists keep. */
static ons_status *connect_link(ons_pipeline_adder *a, uint32_t link_number, bool gradient) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_link *link = &x->links[link_number];
    const way w = way_over(link, gradient);
    size_t from = (size_t)w.sender * x->micro_batches, to = (size_t)w.receiver * x->micro_batches;
    const uint32_t *sent = gradient ? x->backward_order + from : x->forward_order + from;
    const uint32_t *taken = gradient ? x->backward_order + to : x->forward_order + to;
    const ons_task_id *before = gradient ? x->before_backward + to : x->before_forward + to;
    uint32_t ahead = ons_schedule_ahead(x->schedule, link->from, link->to);
    uint32_t places = count_places(x, link, gradient, ahead);
    bool asks = ons_link_asks(link_between(x, link->from, link->to), gradient ? link->gradient_bytes : link->bytes);
    bool local = x->schedule->device_of[link->from] == x->schedule->device_of[link->to];
    ons_pipeline_transfer t = {.link = link_number, .gradient = gradient};
    const ons_task_id *tasks = a->transfers + transfer_index(x, &t); /* every PLACES-th one */
    const ons_task_id *arrivals = a->arrivals + transfer_index(x, &t);
    for (uint32_t i = 0; i < x->micro_batches; ++i) {
        size_t goes = PLACES * (size_t)sent[i], comes = PLACES * (size_t)taken[i];
        bool halved = !gradient && is_halved(x, link_number, sent[i]);
        /* The first half comes to the place of the whole; the second finds it there. */
        size_t first = halved ? comes + FIRST_HALF : comes;
        ONS_TRY(wait_for_maker(a, &w, sent[i], tasks[goes]));
        if (halved) ONS_TRY(ons_adder_wait(a, tasks[goes + FIRST_HALF], x->forward_half[from + sent[i]]));
        if (i >= places && !local)
            ONS_TRY(ons_adder_wait(a, first_of(x, &w, w.sender, sent[i]), tasks[PLACES * (size_t)sent[i - places]]));
        ONS_TRY(ons_adder_wait(a, reader_of(x, &w, taken[i]), arrivals[first]));
        if (halved) ONS_TRY(ons_adder_wait(a, piece_of(x, &w, w.receiver, taken[i], w.ends->read_by), arrivals[comes]));
        if (i >= 1 && !local) ONS_TRY(ons_adder_wait(a, arrivals[first], before[taken[i - 1]]));
        if (halved) ONS_TRY(ons_adder_wait(a, arrivals[comes], arrivals[first]));
        if (i >= ahead && !local && asks) ONS_TRY(ons_adder_wait(a, tasks[first], before[taken[i - ahead]]));
    }
    return NULL;
}

/* Each of two stages that share weights adds the other's gradients to its own before it updates. They exchange them
 * when both have all of theirs, so that nothing large stands in the way of the pipeline's own transfers. */
static ons_status *connect_tie(ons_pipeline_adder *a, uint32_t number) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_tie *tie = &x->ties[number];
    for (int up = 0; up < 2; ++up) {
        ons_task_id task =
            a->transfers[transfer_index(x, &(ons_pipeline_transfer){.tie = true, .link = number, .gradient = up})];
        ONS_TRY(ons_adder_wait(a, task, a->gradient_last[tie->first]));
        ONS_TRY(ons_adder_wait(a, task, a->gradient_last[tie->second]));
        ONS_TRY(ons_adder_wait(a, a->update[up ? tie->first : tie->second], task));
    }
    return NULL;
}

static ons_status *connect_links(ons_pipeline_adder *a) {
    for (uint32_t i = 0; i < a->x->link_count; ++i) {
        ONS_TRY(connect_link(a, i, false));
        if (a->x->links[i].gradient) ONS_TRY(connect_link(a, i, true));
    }
    for (uint32_t i = 0; i < a->x->tie_count; ++i) ONS_TRY(connect_tie(a, i));
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
        for (uint32_t i = 0; i < x->micro_batches; ++i) {
            if (is_halved(x, link, i))
                (*list)[(*count)++] = (ons_pipeline_transfer){.link = link, .micro_batch = i, .half = true};
            for (int gradient = 0; gradient <= (int)x->links[link].gradient; ++gradient)
                (*list)[(*count)++] =
                    (ons_pipeline_transfer){.link = link, .micro_batch = i, .gradient = gradient != 0};
        }
    for (uint32_t tie = 0; tie < x->tie_count; ++tie)
        for (int up = 0; up < 2; ++up)
            (*list)[(*count)++] = (ons_pipeline_transfer){.tie = true, .link = tie, .gradient = up != 0};
    return NULL;
}
