/* Puts a pass on the streams: parts are cut where something leaves, comes or is waited for. */
#include "runtime/pipeline/worker_pass.h"

const ons_program_pass *ons_program_pass_of(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    ons_part_kind kind = ons_stage_program_kind(share->stage, part);
    return &share->shares[ons_lineup_find(&share->pass->lineup, kind, micro_batch, share->pass->micro_batches,
                                          share->pass->asynchronous)];
}

/* Whether what micro-batches add up is complete behind the nodes of this part, bucket by bucket: gradients come in the
 * order of micro-batches in every list (planner/schedule/schedule.h), so the last one's complete them. */
static const uint32_t *find_ready(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    const ons_reducer *reducer = share->worker->o.reducer;
    if (reducer == NULL || !share->pass->updates || micro_batch + 1 != share->pass->micro_batches ||
        ons_program_pass_is_end(share, part))
        return NULL;
    return ons_reducer_ready(reducer, share->stage);
}

static ons_status *put_nodes(const ons_program_pass *share, ons_part part, uint32_t micro_batch, uint32_t first,
                             uint32_t end) {
    const uint32_t *ready = find_ready(share, part, micro_batch);
    for (uint32_t i = 0; ready != NULL && first < end && i < ons_reducer_buckets(share->worker->o.reducer); ++i) {
        if (ready[i] <= first || ready[i] > end) continue;
        ONS_TRY(ons_program_pass_compute(share, part, micro_batch, first, ready[i], ONS_ALL_SAMPLES));
        ONS_TRY(ons_reducer_complete(share->worker->o.reducer, i, share->worker->compute));
        first = ready[i];
    }
    return ons_program_pass_compute(share, part, micro_batch, first, end, ONS_ALL_SAMPLES);
}

void ons_program_pass_follow_compute(const ons_program_pass *share, ons_stream *stream) {
    share->worker->device->event_record(share->worker->compute, share->worker->sync_event);
    share->worker->device->stream_wait(stream, share->worker->sync_event);
}

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
    return ons_program_pass_compute(k->share, k->part, k->micro_batch, first, end, k->sample_half);
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

static ons_status *put_part(const ons_program_pass *any, ons_part part, uint32_t micro_batch) {
    const ons_program_pass *share = part == ONS_PART_BEGIN ? any : ons_program_pass_of(any, part, micro_batch);
    ONS_TRY(ons_program_pass_put_turn(share, part, micro_batch));
    if (ons_program_pass_is_end(share, part) && share->worker->o.reducer != NULL)
        ONS_TRY(ons_reducer_finish(share->worker->o.reducer, share->worker->compute));
    if (ons_program_pass_is_end(share, part))
        share_faults(share); /* behind all sums: every rank asks NCCL in the same order */
    walk k = {.share = share, .part = part, .micro_batch = micro_batch};
    k.position = part == ONS_PART_BEGIN ? 0 : share->cut->end[part - 1];
    k.waits = collect_waits(share, part, micro_batch);
    /* Data is put in before the first node: not over something that has not left yet. */
    while (k.wait < k.waits && share->worker->waits[k.wait].position <= k.position) ONS_TRY(await_overwritten(&k));
    if (skips_turns(share, part, micro_batch)) ons_reducer_skip_turns(share->worker->o.reducer, share->worker->compute);
    bool loads = share->pass->load != NULL && part != ONS_PART_BEGIN && !ons_program_pass_is_end(share, part);
    if (loads) ONS_TRY(ons_program_pass_put_load(share, part, micro_batch));
    ONS_TRY(is_in_halves(share, part, micro_batch) ? walk_halves(&k) : walk_part(&k));
    if (!ons_program_pass_is_end(share, part) || share->worker->o.reducer == NULL) return NULL;
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
    return ons_program_pass_put_read(ons_program_pass_of(share, part, a->micro_batch), part, a->micro_batch);
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
    ONS_TRY(ons_program_pass_put_steps(shares));
    worker->shared = worker->shared || (worker->o.nccl != NULL && pass->updates && !pass->asynchronous);
    if (kept == NULL) return ons_worker_put(worker, pass);
    ons_worker_repeat(worker, kept);
    return NULL;
}
