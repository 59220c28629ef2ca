/* Puts a pass on the streams: parts are cut where something leaves, comes or is waited for. */
#include <inttypes.h>
#include <string.h>

#include "graph/evaluate.h"
#include "runtime/pipeline/worker_pass.h"

const ons_program_pass *ons_program_pass_of(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    ons_part_kind kind = ons_stage_program_kind(share->stage, part);
    return &share->shares[ons_lineup_find(&share->pass->lineup, kind, micro_batch, share->pass->micro_batches,
                                          share->pass->asynchronous)];
}

/* ------------------------------------------------------------------------------------------------------------- jobs */

/* Blocks stay from step to step. */
static ons_status *take_job(const ons_program_pass *share, ons_job **job) {
    ons_worker *worker = share->worker;
    size_t block = worker->jobs_used / ONS_JOBS_IN_BLOCK;
    if (block == worker->blocks.count) {
        ons_job_block *added = malloc(sizeof *added);
        if (added == NULL || !ons_vector_push(&worker->blocks, added)) {
            free(added);
            return ons_status_out_of_memory();
        }
    }
    *job = &worker->blocks.items[block]->jobs[worker->jobs_used++ % ONS_JOBS_IN_BLOCK];
    **job = (ons_job){.worker = worker, .pass = share->pass, .program = share->stage};
    return NULL;
}

/* The other stages are told at once: what they would get from here is worth nothing, and must bring nothing up to date.
 */
static void tell_fault(ons_worker *worker, const ons_job *job) {
    char text[ONS_FAULT_TEXT];
    worker->faulty = job->program;
    if (worker->o.transport == NULL) return;
    const char *node =
        worker->fault.node == ONS_NONE ? "" : ons_graph_node(job->program->cut->graph, worker->fault.node)->name;
    ons_status *status = ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s", job->step.step, node,
                                        ons_fault_print(&worker->fault.fault, text));
    if (worker->o.rank_group.in_turn) status = ons_status_at(status, "copy %u", worker->o.rank_group.own);
    status = ons_status_at(status, "stage %u", worker->o.stage);
    if (worker->o.reducer != NULL && !worker->o.rank_group.in_turn)
        status = ons_status_at(status, "replica %u", worker->o.replica);
    worker->o.transport->fail(worker->o.transport, status);
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
    ons_worker *worker = job->worker;
    if (worker->fault.fault.problem != NULL || atomic_load(&worker->cut_off)) {
        ons_program_revive_all(job->program->program); /* copies and messages of what was not made go on */
        return;
    }
    bool discrete_memory = job->device_step != NULL;
    const ons_replicas replicas = replicas_of(job);
    const ons_run run = {
        .step = discrete_memory ? job->device_step : &job->step,
        .part_place = &job->part_place,
        .observer = ons_worker_node_observer(worker),
        .context = job,
        .fault = discrete_memory ? NULL : &worker->fault,
        .replicas = replicas.gather == NULL ? NULL : &replicas,
        .stream = native,
        .device_fault = worker->control.fault,
        .finder = worker->o.rank_group.own,
    };
    int64_t begin = ons_trace_now();
    ons_worker_begin_nodes(job);
    ons_program_run_positions(ons_stage_program_of(job->program, job->sample_half), job->first, job->end, &run);
    ons_worker_end_nodes(job, begin);
    if (worker->fault.fault.problem != NULL) tell_fault(worker, job);
}

static void load_data(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->load(job->pass->context, job->micro_batch, job->part, &job->part_place);
}

static void read_results(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->read(job->pass->context, job->micro_batch, &job->part_place);
}

/* ------------------------------------------------------------------------------------------------------------ turns */

static bool is_end(const ons_program_pass *share, ons_part part) {
    return ons_stage_program_kind(share->stage, part) == ONS_PART_END;
}

ons_part_place ons_program_pass_place(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    if (!share->pass->asynchronous) return (ons_part_place){.micro_batch = micro_batch};
    return ons_stage_program_place(share->stage, ons_stage_program_kind(share->stage, part), micro_batch,
                                   share->pass->version);
}

static void fill_job(const ons_program_pass *share, ons_job *job, ons_part part, uint32_t micro_batch) {
    job->part = part;
    job->micro_batch = micro_batch;
    job->part_place = ons_program_pass_place(share, part, micro_batch);
    job->step = share->pass->step;
    job->step.micro_batch += (uint32_t)(ons_pipeline_pass_number(share->pass, micro_batch) - share->pass->number) *
                             ons_worker_size(share->worker, share->pass);
    if (share != share->shares) job->step.sample_share = share->pass->second_share;
    if (share->pass->counted_targets != NULL) job->step.counted_targets = share->pass->counted_targets[micro_batch];
    if (is_end(share, part)) job->step.step = share->pass->update + (share->pass->asynchronous ? micro_batch : 0);
}

ons_status *ons_program_pass_job(const ons_program_pass *share, ons_part part, uint32_t micro_batch, ons_job **job) {
    ONS_TRY(take_job(share, job));
    fill_job(share, *job, part, micro_batch);
    return NULL;
}

/* The steps of updates lie behind those of the micro-batches. */
static uint32_t step_index(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    return is_end(share, part) ? share->pass->micro_batches + micro_batch : micro_batch;
}

/* What kernels read of the steps of this pass goes to the device before all else of it. */
static ons_status *put_steps(const ons_program_pass *share) {
    ons_worker *worker = share->worker;
    if (worker->steps == NULL) return NULL;
    ONS_CHECK(worker->passes < ONS_PASSES_AT_ONCE && 2 * share->pass->micro_batches <= worker->control.count,
              ONS_DEFECT, "pass %u of %u micro-batches has no room for its steps", worker->passes,
              share->pass->micro_batches);
    ons_step *steps = worker->steps + (size_t)worker->control.count * worker->passes++;
    uint32_t count =
        share->pass->micro_batches == 0 ? 1 : 2 * share->pass->micro_batches; /* a replica without a sample updates */
    for (uint32_t i = 0; i < count; ++i) {
        ons_job job;
        bool update = i >= share->pass->micro_batches;
        ons_part part = update ? ons_part_last(share->cut->chunks) : ONS_PART_FORWARD;
        uint32_t micro_batch = update ? i - share->pass->micro_batches : i;
        fill_job(ons_program_pass_of(share, part, micro_batch), &job, part, micro_batch);
        steps[i] = job.step;
    }
    worker->device->copy(worker->compute, worker->control.steps, steps, count * sizeof *steps);
    return NULL;
}

static ons_status *put_task(const ons_program_pass *share, ons_task *task, ons_part part, uint32_t micro_batch) {
    ons_job *job;
    ONS_TRY(ons_program_pass_job(share, part, micro_batch, &job));
    share->worker->device->launch(share->worker->compute, task, job);
    return NULL;
}

static ons_status *launch_nodes(const ons_program_pass *share, ons_part part, uint32_t micro_batch, uint32_t first,
                                uint32_t end, ons_sample_half sample_half) {
    ons_job *job;
    if (first >= end) return NULL;
    ONS_TRY(ons_program_pass_job(share, part, micro_batch, &job));
    job->sample_half = sample_half;
    job->first = first;
    job->end = end;
    if (share->worker->steps != NULL)
        job->device_step = share->worker->control.steps + step_index(share, part, micro_batch);
    share->worker->device->launch(share->worker->compute, run_nodes, job);
    return NULL;
}

/* Whether what micro-batches add up is complete behind the nodes of this part, bucket by bucket: gradients come in the
 * order of micro-batches in every list (planner/schedule/schedule.h), so the last one's complete them. */
static const uint32_t *find_ready(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    const ons_reducer *reducer = share->worker->o.reducer;
    if (reducer == NULL || !share->pass->updates || micro_batch + 1 != share->pass->micro_batches ||
        is_end(share, part))
        return NULL;
    return ons_reducer_ready(reducer, share->stage);
}

static ons_status *put_nodes(const ons_program_pass *share, ons_part part, uint32_t micro_batch, uint32_t first,
                             uint32_t end) {
    const uint32_t *ready = find_ready(share, part, micro_batch);
    for (uint32_t i = 0; ready != NULL && first < end && i < ons_reducer_buckets(share->worker->o.reducer); ++i) {
        if (ready[i] <= first || ready[i] > end) continue;
        ONS_TRY(launch_nodes(share, part, micro_batch, first, ready[i], ONS_ALL_SAMPLES));
        ONS_TRY(ons_reducer_complete(share->worker->o.reducer, i, share->worker->compute));
        first = ready[i];
    }
    return launch_nodes(share, part, micro_batch, first, end, ONS_ALL_SAMPLES);
}

void ons_program_pass_follow_compute(const ons_program_pass *share, ons_stream *stream) {
    share->worker->device->event_record(share->worker->compute, share->worker->sync_event);
    share->worker->device->stream_wait(stream, share->worker->sync_event);
}

/* ------------------------------------------------------------------------------------------------------------ parts */

/* From where on in this part something that has left must be gone: before all of it where another program put it there;
 * what only its ring's rules keep is nothing to wait for. */
static uint32_t conflict_of(const ons_program_pass *share, const ons_pending *pending, ons_part part,
                            uint32_t micro_batch) {
    const ons_hazard *d = &pending->program->hazards[pending->transfer];
    if (d->slots > 0 && pending->micro_batch % d->slots != micro_batch % d->slots) return ONS_NO_POSITION;
    if (pending->program == share->stage) return d->conflict[part];
    return d->conflicts ? 0 : ONS_NO_POSITION;
}

/* What has left in earlier parts and must be gone at some position of this one; it is forgotten then. */
static uint32_t collect_waits(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    ons_worker *worker = share->worker;
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < worker->pending_count; ++i) {
        const ons_pending *pending = &worker->pending[i];
        uint32_t position = conflict_of(share, pending, part, micro_batch);
        if (position == ONS_NO_POSITION) {
            worker->pending[kept++] = *pending;
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && worker->waits[at - 1].position > position; --at) worker->waits[at] = worker->waits[at - 1];
        worker->waits[at] = (ons_wait){position, *pending};
    }
    worker->pending_count = kept;
    return count;
}

/* What has left in this part must be gone before the part ends; it is forgotten. */
static ons_status *await_transfer(const ons_program_pass *share, uint32_t transfer, uint32_t micro_batch,
                                  uint32_t position) {
    ons_worker *worker = share->worker;
    for (uint32_t i = worker->pending_count; i-- > 0;) {
        const ons_pending pending = worker->pending[i];
        if (pending.program != share->stage || pending.transfer != transfer || pending.micro_batch != micro_batch)
            continue;
        ONS_TRY(ons_program_pass_forget(share, i));
        return ons_program_pass_bury_overwritten(share, &pending, micro_batch, position);
    }
    return NULL;
}

static ons_status *carry_out(const ons_program_pass *share, const ons_sync_point *sync_point, uint32_t micro_batch,
                             ons_sample_half sample_half) {
    switch (sync_point->kind) {
    case ONS_SYNC_SEND: return ons_program_pass_send(share, sync_point->index, micro_batch, sample_half);
    case ONS_SYNC_OUT: return ons_program_pass_copy_out(share, sync_point->index, micro_batch);
    case ONS_SYNC_GONE:
        return await_transfer(share, share->cut->send_count + sync_point->index, micro_batch, sync_point->position);
    case ONS_SYNC_RELEASE: return ons_program_pass_release(share, sync_point->index, micro_batch);
    case ONS_SYNC_IN: return ons_program_pass_copy_in(share, sync_point->index, micro_batch);
    case ONS_SYNC_AWAIT: return ons_program_pass_await(share, sync_point->index, micro_batch, sample_half);
    case ONS_SYNC_BACK:
        share->worker->device->stream_wait(share->worker->compute, share->program->in[sync_point->index]);
        return NULL;
    }
    return NULL;
}

static void share_fault(void *argument, uintptr_t native) { ons_nccl_share_fault(argument, native); }

/* No stage updates where another has found something wrong with the data; what this one has found goes to the host
 * first. (Asynchronous updates are not the same step's in all stages, so they cannot wait for each other.) */
static void share_faults(const ons_program_pass *share) {
    ons_worker *worker = share->worker;
    if (worker->o.nccl == NULL || share->pass->asynchronous) return;
    worker->device->copy(worker->compute, worker->own, worker->control.fault, sizeof *worker->own);
    worker->device->launch(worker->compute, share_fault, worker->o.nccl);
}

/* A walk over a part: all of it, or one half's nodes with the messages in between, or what comes behind both. */
typedef struct walk {
    const ons_program_pass *share;
    ons_part part;
    uint32_t micro_batch;
    ons_sample_half sample_half;
    bool behind_halves;
    uint32_t position, wait, waits;
} walk;

/* Behind the halves: the nodes that neither has computed. */
static ons_status *put_nodes_behind(walk *k, uint32_t end) {
    const bool *runs = k->share->stage->halves->runs;
    while (k->position < end) {
        uint32_t first = k->position++;
        if (runs[first]) continue;
        while (k->position < end && !runs[k->position]) ++k->position;
        ONS_TRY(put_nodes(k->share, k->part, k->micro_batch, first, k->position));
    }
    return NULL;
}

static ons_status *put_nodes_until(walk *k, uint32_t end) {
    uint32_t first = k->position;
    if (end <= first) return NULL;
    if (k->behind_halves) return put_nodes_behind(k, end);
    k->position = end;
    if (k->sample_half == ONS_ALL_SAMPLES) return put_nodes(k->share, k->part, k->micro_batch, first, end);
    return launch_nodes(k->share, k->part, k->micro_batch, first, end, k->sample_half);
}

/* All that is overwritten at the next position of the waits: a value may have left several ways, and is needed until
 * the last is gone. */
static ons_status *await_overwritten(walk *k) {
    const ons_wait *waits = k->share->worker->waits;
    uint32_t first = k->wait;
    while (k->wait < k->waits && waits[k->wait].position == waits[first].position)
        ONS_TRY(ons_program_pass_await_gone(k->share, &waits[k->wait++].pending));
    for (uint32_t i = first; i < k->wait; ++i)
        ONS_TRY(ons_program_pass_bury_overwritten(k->share, &waits[i].pending, k->micro_batch, waits[i].position));
    return NULL;
}

/* Messages go with the halves; places are free, and copies go, when both have run. */
static bool is_due(const walk *k, const ons_sync_point *sync_point) {
    bool with_halves = sync_point->kind == ONS_SYNC_SEND || sync_point->kind == ONS_SYNC_AWAIT;
    if (k->behind_halves && with_halves) return false;
    if (k->sample_half != ONS_ALL_SAMPLES && !with_halves) return false;
    return ons_stage_program_applies(k->share->stage, sync_point, k->part, k->micro_batch);
}

static ons_status *walk_part(walk *k) {
    const ons_stage_program *s = k->share->stage;
    const ons_wait *waits = k->share->worker->waits;
    uint32_t sync_point = k->part == ONS_PART_BEGIN ? 0 : s->sync_point_end[k->part - 1];
    while (k->wait < k->waits || sync_point < s->sync_point_end[k->part]) {
        bool waiting = k->wait < k->waits && (sync_point == s->sync_point_end[k->part] ||
                                              waits[k->wait].position <= s->sync_points[sync_point].position);
        ONS_TRY(put_nodes_until(k, waiting ? waits[k->wait].position : s->sync_points[sync_point].position));
        if (waiting)
            ONS_TRY(await_overwritten(k));
        else if (is_due(k, &s->sync_points[sync_point++]))
            ONS_TRY(carry_out(k->share, &s->sync_points[sync_point - 1], k->micro_batch, k->sample_half));
    }
    return put_nodes_until(k, s->cut->end[k->part]);
}

/* What the first half has made leaves before the second begins. */
static ons_status *walk_halves(walk *k) {
    uint32_t begin = k->position;
    ONS_CHECK(k->share->stage->halves != NULL, ONS_DEFECT, "stage %u has no program for half a micro-batch",
              k->share->worker->o.stage);
    for (ons_sample_half sample_half = ONS_FIRST_HALF; sample_half <= ONS_SECOND_HALF; ++sample_half) {
        k->sample_half = sample_half;
        k->position = begin;
        ONS_TRY(walk_part(k));
    }
    k->sample_half = ONS_ALL_SAMPLES;
    k->behind_halves = true;
    k->position = begin;
    return walk_part(k);
}

static bool is_in_halves(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    if (share->pass->halved == NULL || ons_stage_program_kind(share->stage, part) != ONS_PART_FORWARD) return false;
    return ons_program_pass_is_halved(share, share->cut->stages[ons_part_chunk(share->cut->chunks, part)], micro_batch);
}

/* Whether others' micro-batches lie between the last one here and this one. */
static bool skips_turns(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    bool trains = share->worker->o.reducer != NULL && share->pass->replicas.active > 0;
    return trains && share->worker->o.rank_group.in_turn &&
           ons_stage_program_kind(share->stage, part) == ONS_PART_FORWARD &&
           ons_pipeline_pass_number(share->pass, micro_batch) >= share->worker->o.rank_group.count;
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
static ons_status *put_turn(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    const ons_turn_end *end = &share->worker->o.turns;
    ons_job *job;
    if (end->turns == NULL || share->pass->form == ONS_PASS_OF_BATCH || part == ONS_PART_BEGIN) return NULL;
    ONS_TRY(take_job(share, &job));
    bool backward = ons_stage_program_kind(share->stage, part) != ONS_PART_FORWARD;
    uint64_t step = share->pass->step.step;
    job->moment = is_end(share, part) ? ons_turn_moment(step + 1, false, 0)
                                      : ons_turn_moment(step, share->pass->form == ONS_PASS_OF_REST,
                                                        end->places[2 * (size_t)micro_batch + backward]);
    share->worker->device->launch(share->worker->compute, is_end(share, part) ? leave_turns : await_turn, job);
    return NULL;
}

static ons_status *put_part(const ons_program_pass *any, ons_part part, uint32_t micro_batch) {
    const ons_program_pass *share = part == ONS_PART_BEGIN ? any : ons_program_pass_of(any, part, micro_batch);
    ONS_TRY(put_turn(share, part, micro_batch));
    if (is_end(share, part) && share->worker->o.reducer != NULL)
        ONS_TRY(ons_reducer_finish(share->worker->o.reducer, share->worker->compute));
    if (is_end(share, part)) share_faults(share); /* behind all sums: every rank asks NCCL in the same order */
    walk k = {.share = share, .part = part, .micro_batch = micro_batch};
    k.position = part == ONS_PART_BEGIN ? 0 : share->cut->end[part - 1];
    k.waits = collect_waits(share, part, micro_batch);
    /* Data is put in before the first node: not over something that has not left yet. */
    while (k.wait < k.waits && share->worker->waits[k.wait].position <= k.position) ONS_TRY(await_overwritten(&k));
    if (skips_turns(share, part, micro_batch)) ons_reducer_skip_turns(share->worker->o.reducer, share->worker->compute);
    bool loads = share->pass->load != NULL && part != ONS_PART_BEGIN && !is_end(share, part);
    if (loads) ONS_TRY(put_task(share, load_data, part, micro_batch));
    ONS_TRY(is_in_halves(share, part, micro_batch) ? walk_halves(&k) : walk_part(&k));
    if (!is_end(share, part) || share->worker->o.reducer == NULL) return NULL;
    return ons_reducer_hand_over_weights(share->worker->o.reducer, share->worker->compute);
}

static bool reads_results(const ons_pipeline_pass *pass, const ons_action *a) {
    return pass->read != NULL && (a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_INPUT_GRADIENT);
}

/* Data of the model's inputs, and what a pass makes that the host reads. */
static ons_status *put_action(const ons_program_pass *share, uint32_t i) {
    const ons_pipeline_pass *pass = share->pass;
    const ons_action *a = &pass->actions.items[i];
    ons_part part;
    if (!ons_stage_program_part(share->stage, &pass->actions, i, pass->asynchronous, &part)) return NULL;
    if (a->kind == ONS_ACTION_UPDATE && !pass->updates) return NULL;
    ONS_TRY(put_part(share, part, a->micro_batch));
    if (!reads_results(pass, a)) return NULL;
    return put_task(ons_program_pass_of(share, part, a->micro_batch), read_results, part, a->micro_batch);
}

/* Before another program uses the same memory everything of the last pass is gone. */
static ons_status *await_pending(const ons_program_pass *share) {
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < share->worker->pending_count; ++i)
        status = ons_program_pass_await_gone(share, &share->worker->pending[i]);
    for (uint32_t i = 0; status == NULL && i < share->worker->pending_count; ++i)
        status = ons_program_pass_bury_pending(share, &share->worker->pending[i]);
    share->worker->pending_count = 0;
    return status;
}

static ons_status *receive_meanwhile(void *context) { return ons_program_pass_receive_ahead(context); }

static void begin_reduction(ons_program_pass *share) {
    const ons_meanwhile meanwhile = {receive_meanwhile, share};
    if (share->worker->o.reducer == NULL || share->pass->replicas.active == 0) return;
    ons_reducer_begin(share->worker->o.reducer, &share->pass->replicas, share->pass->step.step,
                      &share->worker->cut_off);
    ons_reducer_set_meanwhile(share->worker->o.reducer, &meanwhile);
}

static ons_status *put_actions(ons_program_pass *share) {
    begin_reduction(share);
    ONS_TRY(ons_program_pass_begin_messages(share));
    for (uint32_t i = 0; share->pass->begins && i < share->share_count; ++i)
        ONS_TRY(put_part(&share->shares[i], ONS_PART_BEGIN, 0));
    for (uint32_t i = 0; i < share->pass->actions.count; ++i) ONS_TRY(put_action(share, i));
    return NULL;
}

/* The pass by its programs, which is one or two. */
static ons_status *split_in_shares(ons_worker *worker, const ons_pipeline_pass *pass, ons_program_pass shares[2]) {
    uint32_t count = pass->lineup.programs[1] == NULL ? 1 : 2;
    for (uint32_t i = 0; i < count; ++i) {
        const ons_stage_program *stage = pass->lineup.programs[i];
        shares[i] = (ons_program_pass){
            .worker = worker,
            .pass = pass,
            .program = ons_worker_find_program(worker, stage),
            .stage = stage,
            .cut = stage->cut,
            .first = i == 0 ? 0 : pass->lineup.first_count,
            .end = i + 1 == count ? pass->micro_batches : pass->lineup.first_count,
            .given_back = worker->given_back + (size_t)i * worker->most_receives,
            .shares = shares,
            .share_count = count,
        };
        ONS_CHECK(shares[i].program != NULL, ONS_DEFECT, "a program runs that the worker does not know");
    }
    return NULL;
}

ons_status *ons_worker_put(ons_worker *worker, const ons_pipeline_pass *pass) {
    ons_program_pass shares[2];
    ONS_TRY(split_in_shares(worker, pass, shares));
    ons_status *status = put_actions(shares);
    ons_status *settled = await_pending(shares);
    if (status != NULL) ons_status_free(settled);
    if (status == NULL) status = settled;
    if (status != NULL) ons_turns_give_up(&worker->o.turns); /* else the other would wait for what is never put */
    return status;
}

ons_status *ons_worker_launch(ons_worker *worker, const ons_pipeline_pass *pass) {
    ons_program_pass shares[2];
    ONS_TRY(split_in_shares(worker, pass, shares));
    const ons_recorded_pass *kept = ons_worker_find_kept(worker, pass);
    ONS_TRY(put_steps(shares));
    worker->shared = worker->shared || (worker->o.nccl != NULL && pass->updates && !pass->asynchronous);
    if (kept == NULL) return ons_worker_put(worker, pass);
    ons_worker_repeat(worker, kept);
    return NULL;
}
