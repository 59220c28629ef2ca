#include "planner/simulate/pipeline_adder.h"

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

static ons_status *make_stages(ons_pipeline_tasks *x, const ons_stage_solution *solutions, ons_stage_link *pairs,
                               ons_arena *arena) {
    ons_memory_workspace *workspace;
    ons_stage_tasks *whole;
    ONS_NEW(whole, arena, x->split.stages);
    ONS_TRY(ons_memory_workspace_new(x->split.problem->work, &workspace));
    ons_status *status = NULL;
    for (uint32_t i = 0; i < x->split.stages && status == NULL; ++i)
        status = ons_stage_tasks_make(&x->split, i, solutions != NULL ? &solutions[i] : NULL, pairs, workspace, arena,
                                      &whole[i]);
    ons_memory_workspace_free(workspace);
    return status == NULL ? divide_stages(x, whole, arena) : status;
}

/* Of copies that lie crosswise each exchanges gradients with the other stage's of its own number. */
static ons_status *check_tie(const ons_pipeline_tasks *x, const ons_stage_tie *tie) {
    ons_stage_grouping a = ons_schedule_grouping(x->schedule, tie->first),
                       b = ons_schedule_grouping(x->schedule, tie->second);
    bool alike = ons_schedule_is_crossed(x->schedule) && a.copies == b.copies && a.size == b.size;
    ONS_CHECK(alike || (a.copies == 1 && b.copies == 1), ONS_UNSUPPORTED,
              "stages %u and %u share weights, and one of them has several copies; stages that share weights have one "
              "each",
              tie->first, tie->second);
    return NULL;
}

/* Makes room for the tasks of a run, by micro-batch, and notes what lists say of single micro-batches: halves of
 * forward parts, input gradients apart. */
static ons_status *allocate_tasks(ons_pipeline_tasks *x, ons_arena *arena) {
    size_t count = (size_t)x->split.stages * x->micro_batches;
    ONS_NEW(x->forward, arena, x->split.stages);
    ONS_NEW(x->backward, arena, x->split.stages);
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        ONS_NEW(x->forward[i], arena, (size_t)x->stages[i].forward_count * x->micro_batches);
        ONS_NEW(x->backward[i], arena, (size_t)x->stages[i].backward_count * x->micro_batches);
    }
    ONS_NEW(x->halved, arena, count);
    ONS_NEW(x->apart, arena, count);
    ONS_NEW(x->forward_half, arena, count);
    ONS_NEW(x->before_forward, arena, count);
    ONS_NEW(x->before_backward, arena, count);
    ONS_NEW(x->forward_order, arena, count);
    ONS_NEW(x->backward_order, arena, count);
    for (uint32_t i = 0; i < x->tie_count; ++i) ONS_TRY(check_tie(x, &x->ties[i]));
    ONS_NEW(x->first_copy, arena, x->split.stages);
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        x->first_copy[i] = x->copy_count;
        x->copy_count += ons_schedule_grouping(x->schedule, i).copies;
    }
    ONS_NEW(x->forward_count, arena, x->copy_count);
    ONS_NEW(x->backward_count, arena, x->copy_count);
    for (uint32_t device = 0; device < x->schedule->devices; ++device)
        for (uint32_t i = 0; i < x->schedule->lists[device].count; ++i) {
            const ons_action *a = &x->schedule->lists[device].items[i];
            size_t at = (size_t)a->stage * x->micro_batches + a->micro_batch;
            x->halved[at] |= a->halved;
            x->apart[at] |= a->kind == ONS_ACTION_INPUT_GRADIENT;
        }
    return NULL;
}

/* Stages with micro-batches of their own need workloads of these. */
static ons_status *check_works(const ons_split *split) {
    const ons_planning_problem *p = split->problem;
    for (uint32_t i = 0; i < split->stages; ++i) {
        uint32_t size = ons_schedule_grouping(split->schedule, i).size;
        const ons_workload *work = p->stage_works != NULL ? p->stage_works[i] : p->work;
        ONS_CHECK(work->samples == size * p->work->samples && work->node_count == p->work->node_count,
                  ONS_INVALID_ARGUMENT,
                  "stage %u takes %u units of %lld samples at once; its workload is of %lld samples, or of other nodes",
                  i, size, (long long)p->work->samples, (long long)work->samples);
    }
    return NULL;
}

static void begin(const ons_split *split, ons_pipeline_tasks *x) {
    *x = (ons_pipeline_tasks){
        .split = *split, .schedule = split->schedule, .micro_batches = split->schedule->micro_batches};
}

ons_status *ons_pipeline_tasks_make(const ons_split *split, const ons_stage_solution *solutions, ons_arena *arena,
                                    ons_pipeline_tasks *x) {
    ons_stage_link *pairs;
    begin(split, x);
    ONS_TRY(check_works(split));
    ONS_TRY(ons_pipeline_links_find(split, arena, &pairs));
    ONS_TRY(make_stages(x, solutions, pairs, arena));
    ONS_TRY(ons_pipeline_links_make(x, pairs, arena));
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

static ons_status *add_piece(ons_pipeline_adder *a, const ons_action *action, const ons_stage_piece *piece,
                             ons_task_id *id) {
    uint32_t device = ons_schedule_device(a->x->schedule, action->stage, action->copy);
    ons_task_spec spec = {.name = ons_action_name(piece->kind),
                          .action = {piece->kind, action->stage, action->copy, action->micro_batch, false},
                          .resource = ons_device_stream(device, ONS_STREAM_COMPUTE),
                          .second_resource = ONS_NO_RESOURCE,
                          .seconds = piece->seconds,
                          .start_bytes = piece->start_bytes,
                          .end_bytes = piece->end_bytes};
    ONS_TRY(ons_simulation_add_task(a->s, &spec, id));
    a->last[device] = *id;
    return NULL;
}

static ons_status *add_copy_task(ons_pipeline_adder *a, const ons_action *action, const ons_stage_copy *copy,
                                 uint32_t which, ons_task_id *id) {
    ons_action_kind kind = which == ONS_STREAM_SWAP_IN ? ONS_ACTION_SWAP_IN : ONS_ACTION_SWAP_OUT;
    uint32_t device = ons_schedule_device(a->x->schedule, action->stage, action->copy);
    ons_task_spec spec = {.name = copy->name,
                          .action = {kind, action->stage, action->copy, action->micro_batch, false},
                          .resource = ons_device_stream(device, which),
                          .second_resource = ONS_NO_RESOURCE,
                          .seconds = which == ONS_STREAM_LOCAL ? 0 : copy->seconds};
    if (spec.name == NULL) spec.name = ons_action_name(kind);
    if (which == ONS_STREAM_SWAP_IN) spec.start_bytes = copy->bytes;
    bool frees = which == ONS_STREAM_LOCAL || copy->used_by <= copy->out_after;
    if (which != ONS_STREAM_SWAP_IN && frees) spec.end_bytes = -copy->bytes;
    return ons_simulation_add_task(a->s, &spec, id);
}

/* The copy to the host, behind its trigger. */
static ons_status *add_copy_out(ons_pipeline_adder *a, const ons_action *action, const ons_stage_copy *copy,
                                ons_task_id trigger, ons_task_id *id) {
    ONS_TRY(add_copy_task(a, action, copy, ONS_STREAM_SWAP_OUT, id));
    return ons_adder_wait(a, *id, trigger);
}

/* Where the forward part still reads what was copied, it is freed after both. */
static ons_status *add_release(ons_pipeline_adder *a, const ons_action *action, const ons_stage_copy *copy,
                               ons_task_id reader, ons_task_id *id) {
    ons_task_id out = *id;
    ONS_TRY(add_copy_task(a, action, copy, ONS_STREAM_LOCAL, id));
    ONS_TRY(ons_adder_wait(a, *id, out));
    return ons_adder_wait(a, *id, reader);
}

/* The number of the stage's copy that computes the action. */
static uint32_t number_of(const ons_pipeline_tasks *x, const ons_action *action) {
    return x->first_copy[action->stage] + action->copy;
}

/* What is copied of the micro-batch whose forward part was the `order`-th of those that the action's copy of its stage
 * computes; NULL where there was none. */
static const ons_task_id *copies_of(const ons_pipeline_adder *a, const ons_action *action, int64_t order) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t number = number_of(x, action);
    if (order < 0 || order >= x->forward_count[number]) return NULL;
    uint32_t micro_batch = x->forward_order[ons_pipeline_place(x, action->stage, action->copy) + (uint32_t)order];
    return a->out[number] + (size_t)micro_batch * x->stages[action->stage].copy_count;
}

/* Memory that the plan counts as free from this piece on must be: the task waits for the copies that leave it. `order`:
 * the newest forward part. */
static ons_status *wait_for_gone(ons_pipeline_adder *a, const ons_action *action, uint32_t copy, int64_t order,
                                 ons_task_id task) {
    const ons_stage_copy *gone = &a->x->stages[action->stage].copies[copy];
    const ons_task_id *out = copies_of(a, action, order - (int64_t)gone->gone_later);
    return out != NULL ? ons_adder_wait(a, task, out[copy]) : NULL;
}

/* No backward part came between this forward part and the one before, as when a pipeline fills: what should be gone in
 * that backward part must be so now. */
static ons_status *wait_for_skipped(ons_pipeline_adder *a, const ons_action *action, int64_t order, ons_task_id task) {
    const ons_stage_tasks *t = &a->x->stages[action->stage];
    for (uint32_t i = 0; i < t->copy_count && t->copies[t->by_gone_backward[i]].gone_backward != ONS_NO_NODE; ++i)
        ONS_TRY(wait_for_gone(a, action, t->by_gone_backward[i], order - 1, task));
    return NULL;
}

/* The first half of a forward part, as one task: it fills half of what the second one leaves full, so the whole place
 * is taken for it. What the stage copies to the host leaves in the second half. */
static ons_status *add_first_half(ons_pipeline_adder *a, const ons_action *action, ons_task_id *id) {
    const ons_stage_tasks *t = &a->x->stages[action->stage];
    ons_stage_piece half = {.kind = ONS_ACTION_FORWARD, .start_bytes = t->forward[0].start_bytes};
    half.end_bytes = -half.start_bytes;
    for (uint32_t i = 0; i < t->forward_count; ++i) half.seconds += t->forward[i].seconds / 2;
    return add_piece(a, action, &half, id);
}

/* Adds the pieces of a forward part in a row on the compute stream, and beside them the copies to the host that they
 * trigger. `copied`, `used` and `gone` count through the copies sorted by the piece that matters, so that each is met
 * once. */
static ons_status *add_forward(ons_pipeline_adder *a, const ons_action *action) {
    ons_pipeline_tasks *x = a->x;
    const ons_stage_tasks *t = &x->stages[action->stage];
    size_t first_place = ons_pipeline_place(x, action->stage, action->copy), at = first_place + action->micro_batch;
    ons_task_id *tasks = ons_pipeline_pieces(x, action->stage, at, false);
    uint32_t number = number_of(x, action), copied = 0, used = 0, gone = 0, order = x->forward_count[number]++;
    ons_task_id *own = a->out[number] + (size_t)action->micro_batch * t->copy_count;
    x->forward_order[first_place + order] = action->micro_batch;
    if (action->halved) ONS_TRY(add_first_half(a, action, &x->forward_half[at]));
    for (uint32_t i = 0; i < t->forward_count; ++i) {
        ons_stage_piece piece = t->forward[i];
        if (action->halved) piece.seconds /= 2;
        ONS_TRY(add_piece(a, action, &piece, &tasks[i]));
        if (i == 0 && a->forward_newest[number])
            ONS_TRY(wait_for_skipped(a, action, order, action->halved ? x->forward_half[at] : tasks[0]));
        for (; gone < t->copy_count && t->copies[t->by_gone_forward[gone]].gone_forward == i; ++gone)
            ONS_TRY(wait_for_gone(a, action, t->by_gone_forward[gone], order, tasks[i]));
        for (; copied < t->copy_count && t->copies[t->by_out[copied]].out_after == i; ++copied)
            ONS_TRY(add_copy_out(a, action, &t->copies[t->by_out[copied]], tasks[i], &own[t->by_out[copied]]));
        for (; used < t->copy_count && t->copies[t->by_used[used]].used_by == i; ++used) {
            const ons_stage_copy *copy = &t->copies[t->by_used[used]];
            if (copy->out_after < i) ONS_TRY(add_release(a, action, copy, tasks[i], &own[t->by_used[used]]));
        }
    }
    a->forward_newest[number] = true;
    return NULL;
}

/* In front of a backward piece: what must be gone is waited for by the copies that come back there, which may take its
 * place, and by the piece. `gone` counts through the copies by the piece in which they are gone. */
static ons_status *wait_before(ons_pipeline_adder *a, const ons_action *action, uint32_t piece, uint32_t *gone,
                               ons_task_id copy_in, ons_task_id task) {
    const ons_stage_tasks *t = &a->x->stages[action->stage];
    uint32_t number = number_of(a->x, action);
    int64_t order = (int64_t)a->x->forward_count[number] - 1;
    for (; *gone < t->copy_count && t->copies[t->by_gone_backward[*gone]].gone_backward == piece; ++*gone) {
        if (!a->forward_newest[number]) continue;
        ONS_TRY(wait_for_gone(a, action, t->by_gone_backward[*gone], order, task));
        if (copy_in != ONS_NO_TASK) ONS_TRY(wait_for_gone(a, action, t->by_gone_backward[*gone], order, copy_in));
    }
    return NULL;
}

/* Before a piece come the copies back that begin there: each waits until the compute stream has come to the piece, as
 * the runtime triggers it, and for its own copy to the host. The piece that needs a copied value waits for it. */
static ons_status *add_backward(ons_pipeline_adder *a, const ons_action *action) {
    ons_pipeline_tasks *x = a->x;
    uint32_t stage = action->stage, number = number_of(x, action), begun = 0, needed = 0, gone = 0;
    uint32_t device = ons_schedule_device(x->schedule, stage, action->copy);
    const ons_stage_tasks *t = &x->stages[stage];
    size_t place = ons_pipeline_place(x, stage, action->copy);
    const ons_task_id *out = a->out[number] + (size_t)action->micro_batch * t->copy_count;
    ons_task_id *tasks = ons_pipeline_pieces(x, stage, place + action->micro_batch, true);
    /* A stage may compute some of its micro-batches' gradients apart, and others' in one. */
    const ons_stage_piece *pieces = action->kind == ONS_ACTION_BACKWARD ? x->whole[stage].backward : t->backward;
    for (uint32_t i = 0; i < t->backward_count; ++i) {
        ons_task_id copy_in = ONS_NO_TASK; /* the first of those that start here; the others come behind it */
        for (; begun < t->copy_count && t->copies[t->by_in[begun]].in_before == i; ++begun) {
            uint32_t copy = t->by_in[begun];
            ONS_TRY(add_copy_task(a, action, &t->copies[copy], ONS_STREAM_SWAP_IN, &a->in[copy]));
            ONS_TRY(ons_adder_wait(a, a->in[copy], a->last[device])); /* the compute stream has come here */
            ONS_TRY(ons_adder_wait(a, a->in[copy], out[copy]));
            if (copy_in == ONS_NO_TASK) copy_in = a->in[copy];
        }
        ONS_TRY(add_piece(a, action, &pieces[i], &tasks[i]));
        ONS_TRY(wait_before(a, action, i, &gone, copy_in, tasks[i]));
        for (; needed < t->copy_count && t->copies[t->by_needed[needed]].needed_by == i; ++needed)
            ONS_TRY(ons_adder_wait(a, tasks[i], a->in[t->by_needed[needed]]));
    }
    a->gradient_last[number] = tasks[t->backward_count - 1];
    a->forward_newest[number] = false;
    x->backward_order[place + x->backward_count[number]++] = action->micro_batch;
    return NULL;
}

static ons_status *add_action(ons_pipeline_adder *a, const ons_action *action) {
    ons_pipeline_tasks *x = a->x;
    const ons_stage_tasks *t = &x->stages[action->stage];
    size_t at = ons_pipeline_place(x, action->stage, action->copy) + action->micro_batch;
    uint32_t number = number_of(x, action);
    ons_task_id before = a->last[ons_schedule_device(x->schedule, action->stage, action->copy)];
    switch ((int)action->kind) {
    case ONS_ACTION_FORWARD: x->before_forward[at] = before; return add_forward(a, action);
    case ONS_ACTION_BACKWARD:
    case ONS_ACTION_INPUT_GRADIENT: x->before_backward[at] = before; return add_backward(a, action);
    case ONS_ACTION_WEIGHT_GRADIENT: return add_piece(a, action, &t->weight_gradient, &a->gradient_last[number]);
    default: break;
    }
    return ons_status_new(ONS_UNSUPPORTED,
                          "stage %u, micro-batch %u: a list to simulate holds computations alone, %s is derived from "
                          "the plan",
                          action->stage, action->micro_batch, ons_action_name(action->kind));
}

/* The sums over a stage's copies or replicas, in front of its update; without any, the update is what waits. */
static ons_status *add_sum(ons_pipeline_adder *a, const ons_action *action) {
    double seconds = a->x->stages[action->stage].reduce_seconds;
    const ons_stage_piece sum = {.kind = ONS_ACTION_ALL_REDUCE, .seconds = seconds};
    return seconds > 0 ? add_piece(a, action, &sum, &a->sum[number_of(a->x, action)]) : NULL;
}

static ons_status *add_update(ons_pipeline_adder *a, const ons_action *action) {
    const ons_stage_tasks *t = &a->x->stages[action->stage];
    const ons_stage_piece update = {.kind = ONS_ACTION_UPDATE, .seconds = t->update_seconds};
    uint32_t number = number_of(a->x, action);
    ONS_TRY(add_piece(a, action, &update, &a->update[number]));
    if (!(t->reduce_seconds > 0)) a->sum[number] = a->update[number];
    return NULL;
}

/* Updates from one on. Those of stages that lie crosswise do not wait for each other: all sums come first. Else two
 * devices could each wait, in front of one stage's update, for what the other sums up behind its own. */
static ons_status *add_updates(ons_pipeline_adder *a, const ons_action_list *list, uint32_t *i) {
    uint32_t first = *i, end = first + 1;
    bool crossed = ons_schedule_is_crossed(a->x->schedule);
    while (crossed && end < list->count && list->items[end].kind == ONS_ACTION_UPDATE) ++end;
    for (uint32_t k = first; k < end; ++k) ONS_TRY(add_sum(a, &list->items[k]));
    for (uint32_t k = first; k < end; ++k) ONS_TRY(add_update(a, &list->items[k]));
    *i = end;
    return NULL;
}

static ons_status *add_list(ons_pipeline_adder *a, const ons_action_list *list) {
    for (uint32_t i = 0; i < list->count;) {
        if (list->items[i].kind == ONS_ACTION_UPDATE)
            ONS_TRY(add_updates(a, list, &i));
        else
            ONS_TRY(add_action(a, &list->items[i++]));
    }
    return NULL;
}

static ons_status *add_computations(ons_pipeline_adder *a) {
    ons_pipeline_tasks *x = a->x;
    for (uint32_t i = 0; i < x->copy_count; ++i) {
        x->forward_count[i] = x->backward_count[i] = 0;
        a->forward_newest[i] = false;
    }
    for (uint32_t device = 0; device < x->schedule->devices; ++device) {
        a->last[device] = ONS_NO_TASK;
        ONS_TRY(add_list(a, &x->schedule->lists[device]));
    }
    return NULL;
}

/* Streams are added in the order of ons_device_stream, so that their numbers need not be kept. Before the first task a
 * device has what its stages hold all the time. */
static ons_status *add_streams(ons_pipeline_adder *a) {
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
            if (ons_schedule_holds(a->x->schedule, i, device)) held += a->x->stages[i].held_bytes;
        ONS_TRY(ons_simulation_set_memory(a->s, device, held));
    }
    return NULL;
}

static ons_status *allocate(ons_pipeline_adder *a, ons_arena *arena) {
    const ons_pipeline_tasks *x = a->x;
    uint32_t most_copies = 0;
    ONS_NEW(a->last, arena, x->schedule->devices);
    ONS_NEW(a->forward_newest, arena, x->copy_count);
    ONS_NEW(a->transfers, arena, ons_pipeline_transfer_places(x));
    ONS_NEW(a->arrivals, arena, ons_pipeline_transfer_places(x));
    ONS_NEW(a->gradient_last, arena, x->copy_count);
    ONS_NEW(a->sum, arena, x->copy_count);
    ONS_NEW(a->update, arena, x->copy_count);
    ONS_NEW(a->out, arena, x->copy_count);
    for (uint32_t i = 0; i < x->split.stages; ++i) {
        uint32_t copied = x->stages[i].copy_count, own = ons_schedule_copy_micro_batches(x->schedule, i);
        if (copied > most_copies) most_copies = copied;
        for (uint32_t k = 0; k < ons_schedule_grouping(x->schedule, i).copies; ++k)
            ONS_NEW(a->out[x->first_copy[i] + k], arena, (size_t)copied * own);
    }
    ONS_NEW(a->in, arena, most_copies);
    return NULL;
}

/* Transfers are simulated first with links that are free, which tells when each could start; then in that order, on
 * links that serve one at a time (ons_pipeline_tasks_run says why that cannot hang). Computations are the same both
 * times, and are kept. */
static ons_status *simulate_twice(ons_pipeline_adder *a, ons_arena *arena) {
    ons_pipeline_transfer *transfers;
    size_t count;
    ONS_TRY(ons_pipeline_transfers_list(a->x, arena, &transfers, &count));
    ONS_TRY(add_streams(a));
    ONS_TRY(add_computations(a));
    ons_simulation_savepoint computations = ons_simulation_get_savepoint(a->s);
    ONS_TRY(ons_pipeline_transfers_add(a, transfers, count));
    ONS_TRY(ons_simulation_run(a->s));
    ons_pipeline_transfers_sort(a, transfers, count);
    ons_simulation_rewind(a->s, computations);
    a->free_links = false;
    ONS_TRY(ons_pipeline_transfers_add(a, transfers, count));
    return ons_simulation_run(a->s);
}

ons_status *ons_pipeline_tasks_run(ons_pipeline_tasks *x, ons_arena *arena, ons_simulation **simulation) {
    ons_pipeline_adder a = {.x = x, .free_links = true};
    ONS_TRY(allocate(&a, arena));
    ONS_TRY(ons_simulation_new(&a.s));
    ons_status *status = simulate_twice(&a, arena);
    if (status != NULL)
        ons_simulation_free(a.s);
    else
        *simulation = a.s;
    return status;
}
