/* Where a pass knows that the place of a value holds something, or nothing: runtime/program/poison.h. */
#include "runtime/pipeline/worker_pass.h"

static void bury_value(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_program_bury(job->program->program, job->value, &job->part_place);
}

static ons_status *put(const ons_program_pass *share, ons_value_id value, uint32_t micro_batch, ons_stream *stream,
                       ons_task *task) {
    ons_job *job;
    if (!ons_program_poisons(share->stage->program)) return NULL;
    ONS_TRY(ons_program_pass_job(share, ONS_PART_FORWARD, micro_batch, &job));
    job->value = value;
    share->worker->device->launch(stream, task, job);
    return NULL;
}

ons_status *ons_program_pass_bury(const ons_program_pass *share, ons_value_id value, uint32_t micro_batch) {
    return put(share, value, micro_batch, share->worker->compute, bury_value);
}

static ons_value_id value_of(const ons_pending *pending) {
    const ons_cut_stage *cut = pending->program->cut;
    bool sent = pending->transfer < cut->send_count;
    return sent ? cut->sends[pending->transfer].value : cut->swaps[pending->transfer - cut->send_count].value;
}

ons_status *ons_program_pass_bury_pending(const ons_program_pass *any, const ons_pending *pending) {
    const ons_program_pass *share = any->shares; /* the one that it left */
    while (share->stage != pending->program) ++share;
    return ons_program_pass_bury(share, value_of(pending), pending->micro_batch);
}

ons_status *ons_program_pass_bury_overwritten(const ons_program_pass *share, const ons_pending *pending,
                                              uint32_t micro_batch, uint32_t position) {
    if (pending->program != share->stage) return NULL;
    const ons_liveness *l = ons_program_liveness(share->stage->program);
    bool dead = position > l->buffers[l->buffer_of_value[value_of(pending)]].last;
    return dead || pending->micro_batch != micro_batch ? ons_program_pass_bury_pending(share, pending) : NULL;
}

static void revive_value(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_program_revive(job->program->program, job->value, &job->part_place);
}

ons_status *ons_program_pass_revive(const ons_program_pass *share, ons_value_id value, uint32_t micro_batch,
                                    ons_stream *stream) {
    return put(share, value, micro_batch, stream, revive_value);
}
