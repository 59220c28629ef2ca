/* Puts a pass on the streams: parts are cut where something leaves, comes or is waited for. */
#include <inttypes.h>
#include <string.h>

#include "graph/evaluate.h"
#include "runtime/pipeline/worker_pass.h"

const ons_program_pass *ons_program_pass_of(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    ons_part_kind kind = ons_stage_program_kind(x->stage, part);
    return &x->shares[ons_lineup_find(&x->f->lineup, kind, micro_batch, x->f->micro_batches, x->f->asynchronous)];
}

/* ------------------------------------------------------------------------------------------------------------- jobs */

/* Blocks stay from step to step. */
static ons_status *take_job(const ons_program_pass *x, ons_job **job) {
    ons_worker *w = x->w;
    size_t block = w->jobs_used / ONS_JOBS_IN_BLOCK;
    if (block == w->blocks.count) {
        ons_job_block *added = malloc(sizeof *added);
        if (added == NULL || !ons_vector_push(&w->blocks, added)) {
            free(added);
            return ons_status_out_of_memory();
        }
    }
    *job = &w->blocks.items[block]->jobs[w->jobs_used++ % ONS_JOBS_IN_BLOCK];
    **job = (ons_job){.worker = w, .pass = x->f, .program = x->stage};
    return NULL;
}

/* The other stages are told at once: what they would get from here is worth nothing, and must bring nothing up to date.
 */
static void tell_fault(ons_worker *w, const ons_job *job) {
    char text[ONS_FAULT_TEXT];
    w->faulty = job->program;
    if (w->o.transport == NULL) return;
    const char *node = w->fault.node == ONS_NONE ? "" : ons_graph_node(job->program->cut->graph, w->fault.node)->name;
    ons_status *status = ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s", job->step.step, node,
                                        ons_fault_print(&w->fault.fault, text));
    if (w->o.ring.in_turn) status = ons_status_at(status, "copy %u", w->o.ring.own);
    status = ons_status_at(status, "stage %u", w->o.stage);
    if (w->o.reducer != NULL && !w->o.ring.in_turn) status = ons_status_at(status, "replica %u", w->o.replica);
    w->o.transport->fail(w->o.transport, status);
    ons_status_free(status);
}

/* The replicas that a job's kernels meet. */
static ons_replicas replicas_of(const ons_job *job) {
    const ons_reducer *reducer = job->worker->o.reducer;
    if (reducer == NULL) return (ons_replicas){0};
    return ons_reducer_replicas(reducer, job->step.micro_batch - job->step.first_micro_batch);
}

static void run_nodes(void *argument, uintptr_t native) {
    ons_job *job = argument;
    ons_worker *w = job->worker;
    if (w->fault.fault.problem != NULL || atomic_load(&w->cut_off)) {
        ons_program_revive_all(job->program->program); /* copies and messages of what was not made go on */
        return;
    }
    bool discrete_memory = job->device_step != NULL;
    const ons_replicas replicas = replicas_of(job);
    const ons_run run = {
        .step = discrete_memory ? job->device_step : &job->step,
        .turn = &job->turn,
        .observer = ons_worker_node_observer(w),
        .context = job,
        .fault = discrete_memory ? NULL : &w->fault,
        .replicas = replicas.gather == NULL ? NULL : &replicas,
        .stream = native,
        .device_fault = w->control.fault,
        .finder = w->o.ring.own,
    };
    int64_t begin = ons_trace_now();
    ons_worker_begin_nodes(job);
    ons_program_run_positions(ons_stage_program_of(job->program, job->piece), job->first, job->end, &run);
    ons_worker_end_nodes(job, begin);
    if (w->fault.fault.problem != NULL) tell_fault(w, job);
}

static void load_data(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->load(job->pass->context, job->micro_batch, job->part, &job->turn);
}

static void read_results(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->read(job->pass->context, job->micro_batch, &job->turn);
}

/* ------------------------------------------------------------------------------------------------------------ turns */

static bool is_end(const ons_program_pass *x, ons_part part) {
    return ons_stage_program_kind(x->stage, part) == ONS_PART_END;
}

ons_turn ons_program_pass_turn(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    if (!x->f->asynchronous) return (ons_turn){.micro_batch = micro_batch};
    return ons_stage_program_turn(x->stage, ons_stage_program_kind(x->stage, part), micro_batch, x->f->version);
}

static void fill_job(const ons_program_pass *x, ons_job *job, ons_part part, uint32_t micro_batch) {
    job->part = part;
    job->micro_batch = micro_batch;
    job->turn = ons_program_pass_turn(x, part, micro_batch);
    job->step = x->f->step;
    job->step.micro_batch +=
        (uint32_t)(ons_pipeline_pass_number(x->f, micro_batch) - x->f->number) * ons_worker_size(x->w, x->f);
    if (x != x->shares) job->step.sample_share = x->f->second_share;
    if (x->f->counted_targets != NULL) job->step.counted_targets = x->f->counted_targets[micro_batch];
    if (is_end(x, part)) job->step.step = x->f->update + (x->f->asynchronous ? micro_batch : 0);
}

ons_status *ons_program_pass_job(const ons_program_pass *x, ons_part part, uint32_t micro_batch, ons_job **job) {
    ONS_TRY(take_job(x, job));
    fill_job(x, *job, part, micro_batch);
    return NULL;
}

/* The steps of updates lie behind those of the micro-batches. */
static uint32_t step_index(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    return is_end(x, part) ? x->f->micro_batches + micro_batch : micro_batch;
}

/* What kernels read of the steps of this pass goes to the device before all else of it. */
static ons_status *put_steps(const ons_program_pass *x) {
    ons_worker *w = x->w;
    if (w->steps == NULL) return NULL;
    ONS_CHECK(w->passes < ONS_PASSES_AT_ONCE && 2 * x->f->micro_batches <= w->control.count, ONS_DEFECT,
              "pass %u of %u micro-batches has no room for its steps", w->passes, x->f->micro_batches);
    ons_step *steps = w->steps + (size_t)w->control.count * w->passes++;
    uint32_t count = x->f->micro_batches == 0 ? 1 : 2 * x->f->micro_batches; /* a replica without a sample updates */
    for (uint32_t i = 0; i < count; ++i) {
        ons_job job;
        bool update = i >= x->f->micro_batches;
        ons_part part = update ? ons_part_last(x->cut->chunks) : ONS_PART_FORWARD;
        uint32_t micro_batch = update ? i - x->f->micro_batches : i;
        fill_job(ons_program_pass_of(x, part, micro_batch), &job, part, micro_batch);
        steps[i] = job.step;
    }
    w->device->copy(w->compute, w->control.steps, steps, count * sizeof *steps);
    return NULL;
}

static ons_status *put_task(const ons_program_pass *x, ons_task *task, ons_part part, uint32_t micro_batch) {
    ons_job *job;
    ONS_TRY(ons_program_pass_job(x, part, micro_batch, &job));
    x->w->device->launch(x->w->compute, task, job);
    return NULL;
}

static ons_status *launch_nodes(const ons_program_pass *x, ons_part part, uint32_t micro_batch, uint32_t first,
                                uint32_t end, ons_piece piece) {
    ons_job *job;
    if (first >= end) return NULL;
    ONS_TRY(ons_program_pass_job(x, part, micro_batch, &job));
    job->piece = piece;
    job->first = first;
    job->end = end;
    if (x->w->steps != NULL) job->device_step = x->w->control.steps + step_index(x, part, micro_batch);
    x->w->device->launch(x->w->compute, run_nodes, job);
    return NULL;
}

/* Whether what micro-batches add up is complete behind the nodes of this part, bucket by bucket: gradients come in the
 * order of micro-batches in every list (planner/schedule/schedule.h), so the last one's complete them. */
static const uint32_t *find_ready(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    const ons_reducer *reducer = x->w->o.reducer;
    if (reducer == NULL || !x->f->updates || micro_batch + 1 != x->f->micro_batches || is_end(x, part)) return NULL;
    return ons_reducer_ready(reducer, x->stage);
}

static ons_status *put_nodes(const ons_program_pass *x, ons_part part, uint32_t micro_batch, uint32_t first,
                             uint32_t end) {
    const uint32_t *ready = find_ready(x, part, micro_batch);
    for (uint32_t i = 0; ready != NULL && first < end && i < ons_reducer_buckets(x->w->o.reducer); ++i) {
        if (ready[i] <= first || ready[i] > end) continue;
        ONS_TRY(launch_nodes(x, part, micro_batch, first, ready[i], ONS_ALL_SAMPLES));
        ONS_TRY(ons_reducer_complete(x->w->o.reducer, i, x->w->compute));
        first = ready[i];
    }
    return launch_nodes(x, part, micro_batch, first, end, ONS_ALL_SAMPLES);
}

void ons_program_pass_follow_compute(const ons_program_pass *x, ons_stream *stream) {
    x->w->device->event_record(x->w->compute, x->w->sync_event);
    x->w->device->stream_wait(stream, x->w->sync_event);
}

/* ------------------------------------------------------------------------------------------------------------ parts */

/* From where on in this part something that has left must be gone: before all of it where another program put it there;
 * what only its ring's rules keep is nothing to wait for. */
static uint32_t conflict_of(const ons_program_pass *x, const ons_pending *pending, ons_part part,
                            uint32_t micro_batch) {
    const ons_hazard *d = &pending->program->hazards[pending->transfer];
    if (d->slots > 0 && pending->micro_batch % d->slots != micro_batch % d->slots) return ONS_NO_POSITION;
    if (pending->program == x->stage) return d->conflict[part];
    return d->conflicts ? 0 : ONS_NO_POSITION;
}

/* What has left in earlier parts and must be gone at some position of this one; it is forgotten then. */
static uint32_t collect_waits(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    ons_worker *w = x->w;
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < w->pending_count; ++i) {
        const ons_pending *pending = &w->pending[i];
        uint32_t position = conflict_of(x, pending, part, micro_batch);
        if (position == ONS_NO_POSITION) {
            w->pending[kept++] = *pending;
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && w->waits[at - 1].position > position; --at) w->waits[at] = w->waits[at - 1];
        w->waits[at] = (ons_wait){position, *pending};
    }
    w->pending_count = kept;
    return count;
}

/* What has left in this part must be gone before the part ends; it is forgotten. */
static ons_status *await_transfer(const ons_program_pass *x, uint32_t transfer, uint32_t micro_batch,
                                  uint32_t position) {
    ons_worker *w = x->w;
    for (uint32_t i = w->pending_count; i-- > 0;) {
        const ons_pending pending = w->pending[i];
        if (pending.program != x->stage || pending.transfer != transfer || pending.micro_batch != micro_batch) continue;
        ONS_TRY(ons_program_pass_forget(x, i));
        return ons_program_pass_bury_overwritten(x, &pending, micro_batch, position);
    }
    return NULL;
}

static ons_status *carry_out(const ons_program_pass *x, const ons_sync_point *sync_point, uint32_t micro_batch,
                             ons_piece piece) {
    switch (sync_point->kind) {
    case ONS_SYNC_SEND: return ons_program_pass_send(x, sync_point->index, micro_batch, piece);
    case ONS_SYNC_OUT: return ons_program_pass_copy_out(x, sync_point->index, micro_batch);
    case ONS_SYNC_GONE:
        return await_transfer(x, x->cut->send_count + sync_point->index, micro_batch, sync_point->position);
    case ONS_SYNC_RELEASE: return ons_program_pass_release(x, sync_point->index, micro_batch);
    case ONS_SYNC_IN: return ons_program_pass_copy_in(x, sync_point->index, micro_batch);
    case ONS_SYNC_AWAIT: return ons_program_pass_await(x, sync_point->index, micro_batch, piece);
    case ONS_SYNC_BACK: x->w->device->stream_wait(x->w->compute, x->p->in[sync_point->index]); return NULL;
    }
    return NULL;
}

static void share_fault(void *argument, uintptr_t native) { ons_nccl_share_fault(argument, native); }

/* No stage updates where another has found something wrong with the data; what this one has found goes to the host
 * first. (Asynchronous updates are not the same step's in all stages, so they cannot wait for each other.) */
static void share_faults(const ons_program_pass *x) {
    ons_worker *w = x->w;
    if (w->o.nccl == NULL || x->f->asynchronous) return;
    w->device->copy(w->compute, w->own, w->control.fault, sizeof *w->own);
    w->device->launch(w->compute, share_fault, w->o.nccl);
}

/* A walk over a part: all of it, or one half's nodes with the messages in between, or what comes behind both. */
typedef struct walk {
    const ons_program_pass *x;
    ons_part part;
    uint32_t micro_batch;
    ons_piece piece;
    bool behind_halves;
    uint32_t position, wait, waits;
} walk;

/* Behind the halves: the nodes that neither has computed. */
static ons_status *put_nodes_behind(walk *k, uint32_t end) {
    const bool *runs = k->x->stage->halves->runs;
    while (k->position < end) {
        uint32_t first = k->position++;
        if (runs[first]) continue;
        while (k->position < end && !runs[k->position]) ++k->position;
        ONS_TRY(put_nodes(k->x, k->part, k->micro_batch, first, k->position));
    }
    return NULL;
}

static ons_status *put_nodes_until(walk *k, uint32_t end) {
    uint32_t first = k->position;
    if (end <= first) return NULL;
    if (k->behind_halves) return put_nodes_behind(k, end);
    k->position = end;
    if (k->piece == ONS_ALL_SAMPLES) return put_nodes(k->x, k->part, k->micro_batch, first, end);
    return launch_nodes(k->x, k->part, k->micro_batch, first, end, k->piece);
}

/* All that is overwritten at the next position of the waits: a value may have left several ways, and is needed until
 * the last is gone. */
static ons_status *await_overwritten(walk *k) {
    const ons_wait *waits = k->x->w->waits;
    uint32_t first = k->wait;
    while (k->wait < k->waits && waits[k->wait].position == waits[first].position)
        ONS_TRY(ons_program_pass_await_gone(k->x, &waits[k->wait++].pending));
    for (uint32_t i = first; i < k->wait; ++i)
        ONS_TRY(ons_program_pass_bury_overwritten(k->x, &waits[i].pending, k->micro_batch, waits[i].position));
    return NULL;
}

/* Messages go with the halves; places are free, and copies go, when both have run. */
static bool is_due(const walk *k, const ons_sync_point *sync_point) {
    bool with_halves = sync_point->kind == ONS_SYNC_SEND || sync_point->kind == ONS_SYNC_AWAIT;
    if (k->behind_halves && with_halves) return false;
    if (k->piece != ONS_ALL_SAMPLES && !with_halves) return false;
    return ons_stage_program_applies(k->x->stage, sync_point, k->part, k->micro_batch);
}

static ons_status *walk_part(walk *k) {
    const ons_stage_program *s = k->x->stage;
    const ons_wait *waits = k->x->w->waits;
    uint32_t sync_point = k->part == ONS_PART_BEGIN ? 0 : s->sync_point_end[k->part - 1];
    while (k->wait < k->waits || sync_point < s->sync_point_end[k->part]) {
        bool waiting = k->wait < k->waits && (sync_point == s->sync_point_end[k->part] ||
                                              waits[k->wait].position <= s->sync_points[sync_point].position);
        ONS_TRY(put_nodes_until(k, waiting ? waits[k->wait].position : s->sync_points[sync_point].position));
        if (waiting)
            ONS_TRY(await_overwritten(k));
        else if (is_due(k, &s->sync_points[sync_point++]))
            ONS_TRY(carry_out(k->x, &s->sync_points[sync_point - 1], k->micro_batch, k->piece));
    }
    return put_nodes_until(k, s->cut->end[k->part]);
}

/* What the first half has made leaves before the second begins. */
static ons_status *walk_halves(walk *k) {
    uint32_t begin = k->position;
    ONS_CHECK(k->x->stage->halves != NULL, ONS_DEFECT, "stage %u has no program for half a micro-batch",
              k->x->w->o.stage);
    for (ons_piece piece = ONS_FIRST_HALF; piece <= ONS_SECOND_HALF; ++piece) {
        k->piece = piece;
        k->position = begin;
        ONS_TRY(walk_part(k));
    }
    k->piece = ONS_ALL_SAMPLES;
    k->behind_halves = true;
    k->position = begin;
    return walk_part(k);
}

static bool is_in_halves(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    if (x->f->halved == NULL || ons_stage_program_kind(x->stage, part) != ONS_PART_FORWARD) return false;
    return ons_program_pass_is_halved(x, x->cut->stages[ons_part_chunk(x->cut->chunks, part)], micro_batch);
}

/* Whether others' micro-batches lie between the last one here and this one. */
static bool skips_turns(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    bool trains = x->w->o.reducer != NULL && x->f->replicas.active > 0;
    return trains && x->w->o.ring.in_turn && ons_stage_program_kind(x->stage, part) == ONS_PART_FORWARD &&
           ons_pipeline_pass_number(x->f, micro_batch) >= x->w->o.ring.count;
}

static void await_turn(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_turns_await(&job->worker->o.turns, job->moment);
}

static void leave_turns(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_turns_reach(&job->worker->o.turns, job->moment);
}

/* A training pass comes to a part in its turn; updates of a device's workers may run beside each other. */
static ons_status *put_turn(const ons_program_pass *x, ons_part part, uint32_t micro_batch) {
    const ons_turn_end *end = &x->w->o.turns;
    ons_job *job;
    if (end->turns == NULL || x->f->form == ONS_PASS_OF_BATCH || part == ONS_PART_BEGIN) return NULL;
    ONS_TRY(take_job(x, &job));
    bool backward = ons_stage_program_kind(x->stage, part) != ONS_PART_FORWARD;
    uint64_t step = x->f->step.step;
    job->moment = is_end(x, part) ? ons_turn_moment(step + 1, false, 0)
                                  : ons_turn_moment(step, x->f->form == ONS_PASS_OF_REST,
                                                    end->places[2 * (size_t)micro_batch + backward]);
    x->w->device->launch(x->w->compute, is_end(x, part) ? leave_turns : await_turn, job);
    return NULL;
}

static ons_status *put_part(const ons_program_pass *any, ons_part part, uint32_t micro_batch) {
    const ons_program_pass *x = part == ONS_PART_BEGIN ? any : ons_program_pass_of(any, part, micro_batch);
    ONS_TRY(put_turn(x, part, micro_batch));
    if (is_end(x, part) && x->w->o.reducer != NULL) ONS_TRY(ons_reducer_finish(x->w->o.reducer, x->w->compute));
    if (is_end(x, part)) share_faults(x); /* behind all sums: every rank asks NCCL in the same order */
    walk k = {.x = x, .part = part, .micro_batch = micro_batch};
    k.position = part == ONS_PART_BEGIN ? 0 : x->cut->end[part - 1];
    k.waits = collect_waits(x, part, micro_batch);
    /* Data is put in before the first node: not over something that has not left yet. */
    while (k.wait < k.waits && x->w->waits[k.wait].position <= k.position) ONS_TRY(await_overwritten(&k));
    if (skips_turns(x, part, micro_batch)) ons_reducer_skip_turns(x->w->o.reducer, x->w->compute);
    bool loads = x->f->load != NULL && part != ONS_PART_BEGIN && !is_end(x, part);
    if (loads) ONS_TRY(put_task(x, load_data, part, micro_batch));
    ONS_TRY(is_in_halves(x, part, micro_batch) ? walk_halves(&k) : walk_part(&k));
    if (!is_end(x, part) || x->w->o.reducer == NULL) return NULL;
    return ons_reducer_hand_over_weights(x->w->o.reducer, x->w->compute);
}

static bool reads_results(const ons_pipeline_pass *f, const ons_action *a) {
    return f->read != NULL && (a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_INPUT_GRADIENT);
}

/* Data of the model's inputs, and what a pass makes that the host reads. */
static ons_status *put_action(const ons_program_pass *x, uint32_t i) {
    const ons_pipeline_pass *f = x->f;
    const ons_action *a = &f->actions.items[i];
    ons_part part;
    if (!ons_stage_program_part(x->stage, &f->actions, i, f->asynchronous, &part)) return NULL;
    if (a->kind == ONS_ACTION_UPDATE && !f->updates) return NULL;
    ONS_TRY(put_part(x, part, a->micro_batch));
    if (!reads_results(f, a)) return NULL;
    return put_task(ons_program_pass_of(x, part, a->micro_batch), read_results, part, a->micro_batch);
}

/* Before another program uses the same memory everything of the last pass is gone. */
static ons_status *await_pending(const ons_program_pass *x) {
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < x->w->pending_count; ++i)
        status = ons_program_pass_await_gone(x, &x->w->pending[i]);
    for (uint32_t i = 0; status == NULL && i < x->w->pending_count; ++i)
        status = ons_program_pass_bury_pending(x, &x->w->pending[i]);
    x->w->pending_count = 0;
    return status;
}

static ons_status *receive_meanwhile(void *context) { return ons_program_pass_receive_ahead(context); }

static void begin_reduction(ons_program_pass *x) {
    const ons_meanwhile meanwhile = {receive_meanwhile, x};
    if (x->w->o.reducer == NULL || x->f->replicas.active == 0) return;
    ons_reducer_begin(x->w->o.reducer, &x->f->replicas, x->f->step.step, &x->w->cut_off);
    ons_reducer_set_meanwhile(x->w->o.reducer, &meanwhile);
}

static ons_status *put_actions(ons_program_pass *x) {
    begin_reduction(x);
    ONS_TRY(ons_program_pass_begin_messages(x));
    for (uint32_t i = 0; x->f->begins && i < x->share_count; ++i) ONS_TRY(put_part(&x->shares[i], ONS_PART_BEGIN, 0));
    for (uint32_t i = 0; i < x->f->actions.count; ++i) ONS_TRY(put_action(x, i));
    return NULL;
}

/* The pass by its programs, which is one or two. */
static ons_status *split_in_shares(ons_worker *w, const ons_pipeline_pass *f, ons_program_pass shares[2]) {
    uint32_t count = f->lineup.programs[1] == NULL ? 1 : 2;
    for (uint32_t i = 0; i < count; ++i) {
        const ons_stage_program *stage = f->lineup.programs[i];
        shares[i] = (ons_program_pass){
            .w = w,
            .f = f,
            .p = ons_worker_find_program(w, stage),
            .stage = stage,
            .cut = stage->cut,
            .first = i == 0 ? 0 : f->lineup.first_count,
            .end = i + 1 == count ? f->micro_batches : f->lineup.first_count,
            .given_back = w->given_back + (size_t)i * w->most_receives,
            .shares = shares,
            .share_count = count,
        };
        ONS_CHECK(shares[i].p != NULL, ONS_DEFECT, "a program runs that the worker does not know");
    }
    return NULL;
}

ons_status *ons_worker_put(ons_worker *w, const ons_pipeline_pass *f) {
    ons_program_pass shares[2];
    ONS_TRY(split_in_shares(w, f, shares));
    ons_status *status = put_actions(shares);
    ons_status *settled = await_pending(shares);
    if (status != NULL) ons_status_free(settled);
    if (status == NULL) status = settled;
    if (status != NULL) ons_turns_give_up(&w->o.turns); /* else the other would wait for what is never put */
    return status;
}

static void repeat(ons_worker *w, const ons_recorded_pass *kept) {
    w->device->recording_repeat(w->compute, kept->recording);
    w->traffic.swapped_out_bytes += kept->traffic.swapped_out_bytes;
    w->traffic.swapped_in_bytes += kept->traffic.swapped_in_bytes;
    w->traffic.sent_bytes += kept->traffic.sent_bytes;
    w->traffic.received_bytes += kept->traffic.received_bytes;
}

ons_status *ons_worker_launch(ons_worker *w, const ons_pipeline_pass *f) {
    ons_program_pass shares[2];
    ONS_TRY(split_in_shares(w, f, shares));
    const ons_recorded_pass *kept = ons_worker_find_kept(w, f);
    ONS_TRY(put_steps(shares));
    w->shared = w->shared || (w->o.nccl != NULL && f->updates && !f->asynchronous);
    if (kept == NULL) return ons_worker_put(w, f);
    repeat(w, kept);
    return NULL;
}
