#include "planner/simulate/pipeline_tasks.h"

#include <math.h>
#include <stdlib.h>

#include "planner/partition/link.h"

/* ----------------------------------------------------------------------------------------------------------- stages */

/* Stages whose input and weight gradients are actions of their own. */
static ons_status *divide_stages(ons_pipeline_tasks *x, ons_stage_tasks *whole, ons_arena *arena) {
    x->whole = whole;
    ONS_NEW(x->stages, arena, x->split.stages);
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        x->stages[i] = whole[i];
        if (!x->schedule->loads[i].apart) continue;
        ONS_CHECK(whole[i].divisible, ONS_UNSUPPORTED,
                  "stage %u: input and weight gradients are actions of their own, but the plan times them together; "
                  "plan again",
                  i);
        ONS_TRY(ons_stage_tasks_divide(&whole[i], arena, &x->stages[i]));
    }
    return NULL;
}

static ons_status *make_stages(ons_pipeline_tasks *x, const ons_stage_solution *solutions, ons_arena *arena) {
    ons_memory_workspace *workspace;
    ons_stage_tasks *whole;
    ONS_NEW(whole, arena, x->split.stages);
    ONS_TRY(ons_memory_workspace_new(x->split.problem->work, &workspace));
    ons_status *status = NULL;
    for (uint32_t i = 0; i < x->split.stages && status == NULL; ++i)
        status =
            ons_stage_tasks_make(&x->split, i, solutions != NULL ? &solutions[i] : NULL, workspace, arena, &whole[i]);
    ons_memory_workspace_free(workspace);
    return status == NULL ? divide_stages(x, whole, arena) : status;
}

static ons_status *allocate_tasks(ons_pipeline_tasks *x, ons_arena *arena) {
    size_t count = (size_t)x->split.stages * x->micro_batches;
    ONS_NEW(x->forward_first, arena, count);
    ONS_NEW(x->forward_last, arena, count);
    ONS_NEW(x->backward_first, arena, count);
    ONS_NEW(x->backward_last, arena, count);
    ONS_NEW(x->before_forward, arena, count);
    ONS_NEW(x->before_backward, arena, count);
    ONS_NEW(x->forward_order, arena, count);
    ONS_NEW(x->backward_order, arena, count);
    ONS_NEW(x->forward_count, arena, x->split.stages);
    ONS_NEW(x->backward_count, arena, x->split.stages);
    return NULL;
}

static void begin(const ons_split *split, ons_pipeline_tasks *x) {
    *x = (ons_pipeline_tasks){
        .split = *split, .schedule = split->schedule, .micro_batches = split->schedule->micro_batches};
}

ons_status *ons_pipeline_tasks_make(const ons_split *split, const ons_stage_solution *solutions, ons_arena *arena,
                                    ons_pipeline_tasks *x) {
    begin(split, x);
    ONS_TRY(make_stages(x, solutions, arena));
    ONS_TRY(ons_pipeline_links_make(x, arena));
    return allocate_tasks(x, arena);
}

ons_status *ons_pipeline_tasks_take(const ons_split *split, const ons_pipeline_parts *parts, ons_arena *arena,
                                    ons_pipeline_tasks *x) {
    begin(split, x);
    ONS_TRY(divide_stages(x, parts->stages, arena));
    x->links = parts->links;
    x->ties = parts->ties;
    x->link_count = parts->link_count;
    x->tie_count = parts->tie_count;
    return allocate_tasks(x, arena);
}

/* ----------------------------------------------------------------------------------------------------- computations */

typedef struct adder {
    ons_pipeline_tasks *x;
    ons_simulation *s;
    ons_task_id *last;                   /* [device]: of its compute stream */
    ons_task_id **out, *in;              /* out[stage][micro-batch · copies + copy]: to the host; in[copy]: back */
    ons_task_id *transfers;              /* see transfer_index */
    ons_task_id *arrivals;               /* likewise: what readers wait for, mostly the transfer itself */
    ons_task_id *gradient_last, *update; /* [stage]: the last part that adds to weights' gradients; the update */
    bool *forward_newest;                /* [stage]: a forward part was added last, no backward part since */
    bool free_links;                     /* transfers take their time, but nobody waits for a link */
} adder;

static ons_resource_id stream(uint32_t device, uint32_t which) { return device * ONS_DEVICE_STREAMS + which; }

static ons_status *wait_for(adder *a, ons_task_id task, ons_task_id before) {
    return before == ONS_NO_TASK ? NULL : ons_simulation_add_dependency(a->s, before, task, 0);
}

static ons_status *add_piece(adder *a, const ons_action *action, const ons_stage_piece *piece, ons_task_id *id) {
    uint32_t device = a->x->schedule->device_of[action->stage];
    ons_task_spec spec = {.name = ons_action_name(piece->kind),
                          .action = {.kind = piece->kind, .stage = action->stage, .micro_batch = action->micro_batch},
                          .resource = stream(device, ONS_STREAM_COMPUTE),
                          .second_resource = ONS_NO_RESOURCE,
                          .seconds = piece->seconds,
                          .start_bytes = piece->start_bytes,
                          .end_bytes = piece->end_bytes};
    ONS_TRY(ons_simulation_add_task(a->s, &spec, id));
    a->last[device] = *id;
    return NULL;
}

static ons_status *add_copy_task(adder *a, const ons_action *action, const ons_stage_copy *copy, uint32_t which,
                                 ons_task_id *id) {
    ons_action_kind kind = which == ONS_STREAM_SWAP_IN ? ONS_ACTION_SWAP_IN : ONS_ACTION_SWAP_OUT;
    ons_task_spec spec = {.name = copy->name,
                          .action = {.kind = kind, .stage = action->stage, .micro_batch = action->micro_batch},
                          .resource = stream(a->x->schedule->device_of[action->stage], which),
                          .second_resource = ONS_NO_RESOURCE,
                          .seconds = which == ONS_STREAM_LOCAL ? 0 : copy->seconds};
    if (spec.name == NULL) spec.name = ons_action_name(kind);
    if (which == ONS_STREAM_SWAP_IN) spec.start_bytes = copy->bytes;
    bool frees = which == ONS_STREAM_LOCAL || copy->used_by <= copy->out_after;
    if (which != ONS_STREAM_SWAP_IN && frees) spec.end_bytes = -copy->bytes;
    return ons_simulation_add_task(a->s, &spec, id);
}

/* The copy to the host, behind its trigger. */
static ons_status *add_copy_out(adder *a, const ons_action *action, const ons_stage_copy *copy, ons_task_id trigger,
                                ons_task_id *id) {
    ONS_TRY(add_copy_task(a, action, copy, ONS_STREAM_SWAP_OUT, id));
    return wait_for(a, *id, trigger);
}

/* Where the forward part still reads what was copied, it is freed after both. */
static ons_status *add_release(adder *a, const ons_action *action, const ons_stage_copy *copy, ons_task_id reader,
                               ons_task_id *id) {
    ons_task_id out = *id;
    ONS_TRY(add_copy_task(a, action, copy, ONS_STREAM_LOCAL, id));
    ONS_TRY(wait_for(a, *id, out));
    return wait_for(a, *id, reader);
}

/* The copies of the micro-batch whose forward part was the stage's `order`-th; NULL where there was none. */
static const ons_task_id *copies_of(const adder *a, uint32_t stage, int64_t order) {
    const ons_pipeline_tasks *x = a->x;
    if (order < 0 || order >= x->forward_count[stage]) return NULL;
    uint32_t micro_batch = x->forward_order[(size_t)stage * x->micro_batches + (uint32_t)order];
    return a->out[stage] + (size_t)micro_batch * x->stages[stage].copy_count;
}

/* Memory that the plan counts as free from this piece on must be: the task waits for the copies that leave it. `order`:
 * the newest forward part. */
static ons_status *wait_for_gone(adder *a, uint32_t stage, uint32_t copy, int64_t order, ons_task_id task) {
    const ons_task_id *out = copies_of(a, stage, order - (int64_t)a->x->stages[stage].copies[copy].gone_later);
    return out != NULL ? wait_for(a, task, out[copy]) : NULL;
}

/* No backward part came between this forward part and the one before, as when a pipeline fills: what should be gone in
 * that backward part must be so now. */
static ons_status *wait_for_skipped(adder *a, uint32_t stage, int64_t order, ons_task_id task) {
    const ons_stage_tasks *t = &a->x->stages[stage];
    for (uint32_t i = 0; i < t->copy_count && t->copies[t->by_gone_backward[i]].gone_backward != ONS_NO_NODE; ++i)
        ONS_TRY(wait_for_gone(a, stage, t->by_gone_backward[i], order - 1, task));
    return NULL;
}

static ons_status *add_forward(adder *a, const ons_action *action, ons_task_id *first, ons_task_id *last) {
    ons_pipeline_tasks *x = a->x;
    const ons_stage_tasks *t = &x->stages[action->stage];
    uint32_t copied = 0, used = 0, gone = 0, order = x->forward_count[action->stage]++;
    ons_task_id *own = a->out[action->stage] + (size_t)action->micro_batch * t->copy_count;
    x->forward_order[(size_t)action->stage * x->micro_batches + order] = action->micro_batch;
    for (uint32_t i = 0; i < t->forward_count; ++i) {
        ONS_TRY(add_piece(a, action, &t->forward[i], last));
        if (i == 0) *first = *last;
        if (i == 0 && a->forward_newest[action->stage]) ONS_TRY(wait_for_skipped(a, action->stage, order, *last));
        for (; gone < t->copy_count && t->copies[t->by_gone_forward[gone]].gone_forward == i; ++gone)
            ONS_TRY(wait_for_gone(a, action->stage, t->by_gone_forward[gone], order, *last));
        for (; copied < t->copy_count && t->copies[t->by_out[copied]].out_after == i; ++copied)
            ONS_TRY(add_copy_out(a, action, &t->copies[t->by_out[copied]], *last, &own[t->by_out[copied]]));
        for (; used < t->copy_count && t->copies[t->by_used[used]].used_by == i; ++used) {
            const ons_stage_copy *copy = &t->copies[t->by_used[used]];
            if (copy->out_after < i) ONS_TRY(add_release(a, action, copy, *last, &own[t->by_used[used]]));
        }
    }
    a->forward_newest[action->stage] = true;
    return NULL;
}

/* In front of a backward piece: what must be gone is waited for by the copies that come back there, which may take its
 * place, and by the piece. `gone` counts through the copies by the piece in which they are gone. */
static ons_status *wait_before(adder *a, uint32_t stage, uint32_t piece, uint32_t *gone, ons_task_id copy_in,
                               ons_task_id task) {
    const ons_stage_tasks *t = &a->x->stages[stage];
    int64_t order = (int64_t)a->x->forward_count[stage] - 1;
    for (; *gone < t->copy_count && t->copies[t->by_gone_backward[*gone]].gone_backward == piece; ++*gone) {
        if (!a->forward_newest[stage]) continue;
        ONS_TRY(wait_for_gone(a, stage, t->by_gone_backward[*gone], order, task));
        if (copy_in != ONS_NO_TASK) ONS_TRY(wait_for_gone(a, stage, t->by_gone_backward[*gone], order, copy_in));
    }
    return NULL;
}

static ons_status *add_backward(adder *a, const ons_action *action, ons_task_id *first, ons_task_id *last) {
    ons_pipeline_tasks *x = a->x;
    uint32_t stage = action->stage, begun = 0, needed = 0, gone = 0, device = x->schedule->device_of[stage];
    const ons_stage_tasks *t = &x->stages[stage];
    const ons_task_id *out = a->out[stage] + (size_t)action->micro_batch * t->copy_count;
    /* A stage may compute some of its micro-batches' gradients apart, and others' in one. */
    const ons_stage_piece *pieces = action->kind == ONS_ACTION_BACKWARD ? x->whole[stage].backward : t->backward;
    for (uint32_t i = 0; i < t->backward_count; ++i) {
        ons_task_id copy_in = ONS_NO_TASK; /* the first of those that start here; the others come behind it */
        for (; begun < t->copy_count && t->copies[t->by_in[begun]].in_before == i; ++begun) {
            uint32_t copy = t->by_in[begun];
            ONS_TRY(add_copy_task(a, action, &t->copies[copy], ONS_STREAM_SWAP_IN, &a->in[copy]));
            ONS_TRY(wait_for(a, a->in[copy], a->last[device])); /* the compute stream has come here */
            ONS_TRY(wait_for(a, a->in[copy], out[copy]));
            if (copy_in == ONS_NO_TASK) copy_in = a->in[copy];
        }
        ONS_TRY(add_piece(a, action, &pieces[i], last));
        if (i == 0) *first = *last;
        ONS_TRY(wait_before(a, stage, i, &gone, copy_in, *last));
        for (; needed < t->copy_count && t->copies[t->by_needed[needed]].needed_by == i; ++needed)
            ONS_TRY(wait_for(a, *last, a->in[t->by_needed[needed]]));
    }
    a->forward_newest[stage] = false;
    x->backward_order[(size_t)stage * x->micro_batches + x->backward_count[stage]++] = action->micro_batch;
    return NULL;
}

static ons_status *add_action(adder *a, const ons_action *action) {
    ons_pipeline_tasks *x = a->x;
    const ons_stage_tasks *t = &x->stages[action->stage];
    size_t at = (size_t)action->stage * x->micro_batches + action->micro_batch;
    ons_task_id before = a->last[x->schedule->device_of[action->stage]];
    ons_stage_piece update = {.kind = ONS_ACTION_UPDATE, .seconds = t->update_seconds};
    switch ((int)action->kind) {
    case ONS_ACTION_FORWARD:
        x->before_forward[at] = before;
        return add_forward(a, action, &x->forward_first[at], &x->forward_last[at]);
    case ONS_ACTION_BACKWARD:
    case ONS_ACTION_INPUT_GRADIENT:
        x->before_backward[at] = before;
        ONS_TRY(add_backward(a, action, &x->backward_first[at], &x->backward_last[at]));
        a->gradient_last[action->stage] = x->backward_last[at];
        return NULL;
    case ONS_ACTION_WEIGHT_GRADIENT: return add_piece(a, action, &t->weight_gradient, &a->gradient_last[action->stage]);
    case ONS_ACTION_UPDATE: return add_piece(a, action, &update, &a->update[action->stage]);
    default: break;
    }
    return ons_status_new(ONS_UNSUPPORTED,
                          "stage %u, micro-batch %u: a list to simulate holds computations alone, %s is derived from "
                          "the plan",
                          action->stage, action->micro_batch, ons_action_name(action->kind));
}

static ons_status *add_computations(adder *a) {
    ons_pipeline_tasks *x = a->x;
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        x->forward_count[i] = x->backward_count[i] = 0;
        a->forward_newest[i] = false;
    }
    for (uint32_t device = 0; device < x->schedule->devices; ++device) {
        a->last[device] = ONS_NO_TASK;
        for (uint32_t i = 0; i < x->schedule->lists[device].count; ++i)
            ONS_TRY(add_action(a, &x->schedule->lists[device].items[i]));
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- transfers */

/* A link's value for one micro-batch, or its gradient; or the gradients of weights that two stages share. */
typedef struct transfer {
    bool tie;
    uint32_t link, micro_batch; /* a link, or a tie */
    bool gradient;              /* from the later stage to the earlier one */
    double start;               /* with links that are free */
    uint32_t order;
} transfer;

static size_t transfer_index(const ons_pipeline_tasks *x, const transfer *t) {
    if (t->tie) return ((size_t)x->link_count * x->micro_batches + t->link) * 2 + t->gradient;
    return ((size_t)t->link * x->micro_batches + t->micro_batch) * 2 + t->gradient;
}

static size_t transfer_places(const ons_pipeline_tasks *x) {
    return ((size_t)x->link_count * x->micro_batches + x->tie_count) * 2;
}

/* What a transfer is, without its streams. */
static ons_task_spec describe_transfer(const ons_pipeline_tasks *x, const transfer *t) {
    if (t->tie)
        return (ons_task_spec){.name = "tied gradients",
                               .action = {.kind = ONS_ACTION_ALL_REDUCE, .micro_batch = x->micro_batches - 1},
                               .seconds = ons_link_seconds(x->split.problem, x->ties[t->link].bytes)};
    const ons_stage_link *link = &x->links[t->link];
    int64_t bytes = t->gradient ? link->gradient_bytes : link->bytes;
    return (ons_task_spec){.name = t->gradient ? "gradient" : "activation",
                           .action = {.kind = t->gradient ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION,
                                      .micro_batch = t->micro_batch},
                           .seconds = ons_link_seconds(x->split.problem, bytes),
                           .start_bytes = bytes,
                           .second_end_bytes = -(t->gradient ? link->gradient_bytes : link->freed_bytes)};
}

/* What travels beside others then lies outside of the receiver's memory until there is room for it there. */
static ons_status *add_arrival(adder *a, ons_task_id sent, const ons_action *send, uint32_t receiver, int64_t bytes,
                               ons_task_id *id) {
    bool gradient = send->kind == ONS_ACTION_SEND_GRADIENT;
    ons_task_spec spec = {
        .name = "on its way",
        .action = {.kind = gradient ? ONS_ACTION_RECEIVE_GRADIENT : ONS_ACTION_RECEIVE_ACTIVATION,
                   .stage = receiver,
                   .micro_batch = send->micro_batch},
        .resource = stream(a->x->schedule->device_of[receiver], ONS_STREAM_LOCAL),
        .second_resource = ONS_NO_RESOURCE,
        .seconds = ons_link_travel(a->x->split.problem),
    };
    ons_task_id travel;
    ONS_TRY(ons_simulation_add_task(a->s, &spec, &travel));
    ONS_TRY(wait_for(a, travel, sent));
    spec.name = "arrival";
    spec.seconds = 0;
    spec.start_bytes = bytes;
    ONS_TRY(ons_simulation_add_task(a->s, &spec, id));
    return wait_for(a, *id, travel);
}

static ons_status *add_transfer(adder *a, const transfer *t) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t early = t->tie ? x->ties[t->link].first : x->links[t->link].from;
    uint32_t late = t->tie ? x->ties[t->link].second : x->links[t->link].to;
    uint32_t sender = t->gradient ? late : early, receiver = t->gradient ? early : late;
    uint32_t from = x->schedule->device_of[sender], to = x->schedule->device_of[receiver];
    ons_task_spec spec = describe_transfer(x, t);
    spec.action.stage = sender;
    spec.resource = stream(to, from == to ? ONS_STREAM_LOCAL : ONS_STREAM_RECEIVE);
    spec.second_resource = stream(from, from == to ? ONS_STREAM_LOCAL : ONS_STREAM_SEND);
    if (from == to) spec.seconds = 0;
    if (a->free_links) spec.resource = spec.second_resource = ONS_NO_RESOURCE;
    ons_task_id *task = &a->transfers[transfer_index(x, t)], *arrival = &a->arrivals[transfer_index(x, t)];
    int64_t bytes = spec.start_bytes;
    bool travels = !t->tie && from != to && ons_link_overlaps(x->split.problem);
    if (travels) {
        spec.start_bytes = 0;
        spec.seconds = fmax(spec.seconds - ons_link_travel(x->split.problem), 0);
    }
    ONS_TRY(ons_simulation_add_task(a->s, &spec, task));
    *arrival = *task;
    return travels ? add_arrival(a, *task, &spec.action, receiver, bytes, arrival) : NULL;
}

static ons_status *add_transfers(adder *a, const transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; ++i) ONS_TRY(add_transfer(a, &transfers[i]));
    return NULL;
}

/* In how many places a sender keeps what has not gone. A stage may be as far ahead as the receiver's stage is behind
 * it, and one more; where it asks before it sends, it goes on when the answer has come, unless it keeps the value. */
static uint32_t count_places(const ons_pipeline_tasks *x, const ons_stage_link *link, bool gradient, uint32_t ahead) {
    uint32_t apart = link->to - link->from;
    bool asks = ons_link_asks(x->split.problem, gradient ? link->gradient_bytes : link->bytes);
    if (asks && apart == 1 && (gradient || link->freed_bytes > 0)) return 1;
    return 1 + (apart > ahead ? apart : ahead);
}

/* What a link's transfers wait for, and who waits for them; in the order in which the stages at its ends compute.
 *
 * A receiver has room for one micro-batch ahead: the next may come when the one before is about to be computed. Where a
 * sender asks, the answer comes when there are places for all that may wait, and the message is taken in like any
 * other. Within a device nothing is sent: there are places for all that its lists keep. */
static ons_status *connect_link(adder *a, uint32_t link_number, bool gradient) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_link *link = &x->links[link_number];
    size_t from = (size_t)(gradient ? link->to : link->from) * x->micro_batches;
    size_t to = (size_t)(gradient ? link->from : link->to) * x->micro_batches;
    const uint32_t *sent = gradient ? x->backward_order + from : x->forward_order + from;
    const uint32_t *taken = gradient ? x->backward_order + to : x->forward_order + to;
    const ons_task_id *made = gradient ? x->backward_last + from : x->forward_last + from;
    const ons_task_id *making = gradient ? x->backward_first + from : x->forward_first + from;
    const ons_task_id *used = gradient ? x->backward_first + to : x->forward_first + to;
    const ons_task_id *before = gradient ? x->before_backward + to : x->before_forward + to;
    uint32_t ahead = ons_schedule_ahead(x->schedule, link->from, link->to);
    uint32_t places = count_places(x, link, gradient, ahead);
    bool asks = ons_link_asks(x->split.problem, gradient ? link->gradient_bytes : link->bytes);
    bool local = x->schedule->device_of[link->from] == x->schedule->device_of[link->to];
    transfer t = {.link = link_number, .gradient = gradient};
    const ons_task_id *tasks = a->transfers + transfer_index(x, &t); /* every second one */
    const ons_task_id *arrivals = a->arrivals + transfer_index(x, &t);
    for (uint32_t i = 0; i < x->micro_batches; ++i) {
        ONS_TRY(wait_for(a, tasks[2 * (size_t)sent[i]], made[sent[i]]));
        if (i >= places && !local) ONS_TRY(wait_for(a, making[sent[i]], tasks[2 * (size_t)sent[i - places]]));
        ONS_TRY(wait_for(a, used[taken[i]], arrivals[2 * (size_t)taken[i]]));
        if (i >= 1 && !local) ONS_TRY(wait_for(a, arrivals[2 * (size_t)taken[i]], before[taken[i - 1]]));
        if (i >= ahead && !local && asks) ONS_TRY(wait_for(a, tasks[2 * (size_t)taken[i]], before[taken[i - ahead]]));
    }
    return NULL;
}

/* Each of two stages that share weights adds the other's gradients to its own before it updates. They exchange them
 * when both have all of theirs, so that nothing large stands in the way of the pipeline's own transfers. */
static ons_status *connect_tie(adder *a, uint32_t number) {
    const ons_pipeline_tasks *x = a->x;
    const ons_stage_tie *tie = &x->ties[number];
    for (int up = 0; up < 2; ++up) {
        ons_task_id task = a->transfers[transfer_index(x, &(transfer){.tie = true, .link = number, .gradient = up})];
        ONS_TRY(wait_for(a, task, a->gradient_last[tie->first]));
        ONS_TRY(wait_for(a, task, a->gradient_last[tie->second]));
        ONS_TRY(wait_for(a, a->update[up ? tie->first : tie->second], task));
    }
    return NULL;
}

static ons_status *connect_links(adder *a) {
    for (uint32_t i = 0; i < a->x->link_count; ++i) {
        ONS_TRY(connect_link(a, i, false));
        if (a->x->links[i].gradient) ONS_TRY(connect_link(a, i, true));
    }
    for (uint32_t i = 0; i < a->x->tie_count; ++i) ONS_TRY(connect_tie(a, i));
    return NULL;
}

static ons_status *add_streams(adder *a) {
    static const char *const names[ONS_DEVICE_STREAMS] = {
        [ONS_STREAM_COMPUTE] = "compute",   [ONS_STREAM_SEND] = "send",       [ONS_STREAM_RECEIVE] = "receive",
        [ONS_STREAM_SWAP_OUT] = "swap out", [ONS_STREAM_SWAP_IN] = "swap in", [ONS_STREAM_LOCAL] = "local"};
    for (uint32_t device = 0; device < a->x->schedule->devices; ++device) {
        int64_t held = 0;
        for (uint32_t i = 0; i < ONS_DEVICE_STREAMS; ++i) {
            ons_resource_id id;
            ONS_TRY(i == ONS_STREAM_LOCAL ? ons_simulation_add_unordered(a->s, device, names[i], &id)
                                          : ons_simulation_add_resource(a->s, device, names[i], &id));
        }
        for (uint32_t i = 0; i < a->x->split.stages; ++i)
            if (a->x->schedule->device_of[i] == device) held += a->x->stages[i].held_bytes;
        ONS_TRY(ons_simulation_set_memory(a->s, device, held));
    }
    return NULL;
}

static ons_status *simulate(adder *a, const transfer *transfers, size_t count) {
    ONS_TRY(add_transfers(a, transfers, count));
    ONS_TRY(connect_links(a));
    return ons_simulation_run(a->s);
}

static int by_start(const void *left, const void *right) {
    const transfer *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_transfers(const adder *a, transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        ons_task_id task = a->transfers[transfer_index(a->x, &transfers[i])];
        transfers[i].start = ons_simulation_times(a->s, task).start;
        transfers[i].order = ons_simulation_order(a->s, task);
    }
    qsort(transfers, count, sizeof *transfers, by_start);
}

static ons_status *list_transfers(const ons_pipeline_tasks *x, ons_arena *arena, transfer **list, size_t *count) {
    ONS_NEW(*list, arena, transfer_places(x));
    *count = 0;
    for (uint32_t link = 0; link < x->link_count; ++link)
        for (uint32_t i = 0; i < x->micro_batches; ++i)
            for (int gradient = 0; gradient <= (int)x->links[link].gradient; ++gradient)
                (*list)[(*count)++] = (transfer){.link = link, .micro_batch = i, .gradient = gradient != 0};
    for (uint32_t tie = 0; tie < x->tie_count; ++tie)
        for (int up = 0; up < 2; ++up) (*list)[(*count)++] = (transfer){.tie = true, .link = tie, .gradient = up != 0};
    return NULL;
}

static ons_status *allocate(adder *a, ons_arena *arena) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t most_copies = 0;
    ONS_NEW(a->last, arena, x->schedule->devices);
    ONS_NEW(a->forward_newest, arena, x->split.stages);
    ONS_NEW(a->transfers, arena, transfer_places(x));
    ONS_NEW(a->arrivals, arena, transfer_places(x));
    ONS_NEW(a->gradient_last, arena, x->split.stages);
    ONS_NEW(a->update, arena, x->split.stages);
    ONS_NEW(a->out, arena, x->split.stages);
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        uint32_t copies = x->stages[i].copy_count;
        if (copies > most_copies) most_copies = copies;
        ONS_NEW(a->out[i], arena, (size_t)copies * x->micro_batches);
    }
    ONS_NEW(a->in, arena, most_copies);
    return NULL;
}

/* Once with links that are free, for the order in which the transfers are served. */
static ons_status *simulate_twice(adder *a, ons_arena *arena) {
    transfer *transfers;
    size_t count;
    ONS_TRY(list_transfers(a->x, arena, &transfers, &count));
    ONS_TRY(add_streams(a));
    ONS_TRY(add_computations(a));
    ons_simulation_mark computations = ons_simulation_get_mark(a->s);
    ONS_TRY(simulate(a, transfers, count));
    sort_transfers(a, transfers, count);
    ons_simulation_rewind(a->s, computations);
    a->free_links = false;
    return simulate(a, transfers, count);
}

ons_status *ons_pipeline_tasks_run(ons_pipeline_tasks *x, ons_arena *arena, ons_simulation **simulation) {
    adder a = {.x = x, .free_links = true};
    ONS_TRY(allocate(&a, arena));
    ONS_TRY(ons_simulation_new(&a.s));
    ons_status *status = simulate_twice(&a, arena);
    if (status != NULL)
        ons_simulation_free(a.s);
    else
        *simulation = a.s;
    return status;
}
