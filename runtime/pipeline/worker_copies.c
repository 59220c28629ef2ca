/* Copies of a pass: what a stage swaps to the host, and back. */
#include "graph/evaluate.h"
#include "runtime/pipeline/worker_pass.h"

static void begin_copy(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->worker->copy_begin[job->first] = ons_trace_now();
}

static void end_copy(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_worker_record(job, "swap", job->worker->copy_begin[job->first]);
}

static ons_part part_of_copy(const ons_program_pass *share, const ons_cut_swap *swap, bool out) {
    ons_part part = ONS_PART_BEGIN;
    while ((out ? swap->out_after : swap->in_before) >= share->cut->end[part]) ++part;
    return part;
}

static ons_status *put_copy(const ons_program_pass *share, uint32_t index, uint32_t micro_batch, bool out) {
    ons_worker *worker = share->worker;
    const ons_cut_swap *swap = &share->cut->swaps[index];
    ons_stream *stream = out ? worker->swap_out : worker->swap_in;
    ons_part part = part_of_copy(share, swap, out);
    ons_part_place part_place = ons_program_pass_place(share, part, micro_batch);
    char *device = ons_program_address(share->stage->program, out ? swap->value : swap->back, &part_place);
    int64_t bytes = ons_stage_program_bytes(share->stage, swap->value);
    char *host = (char *)worker->host + micro_batch % share->stage->slots * worker->slot_host_bytes +
                 share->program->host_offset[index];
    const char *name = ons_graph_value(share->cut->graph, swap->value)->name;
    ons_job *job = NULL;
    uint32_t begin = ons_worker_timestamp(worker, stream);
    if (!out) ONS_TRY(ons_program_pass_revive(share, swap->back, micro_batch, stream));
    if (worker->o.trace != NULL && worker->clock == NULL) {
        ONS_TRY(ons_program_pass_job(share, part, micro_batch, &job));
        job->first = out ? 0 : 1;
        job->bytes = (size_t)bytes;
        job->name = name;
        job->track = out ? worker->out_track : worker->in_track;
        worker->device->launch(stream, begin_copy, job);
    }
    worker->device->copy(stream, out ? host : device, out ? device : host, (size_t)bytes);
    if (job != NULL) worker->device->launch(stream, end_copy, job);
    ons_program_pass_record_span(share, out ? worker->out_track : worker->in_track, name, "swap", micro_batch, bytes,
                                 begin, stream);
    *(out ? &worker->traffic.swapped_out_bytes : &worker->traffic.swapped_in_bytes) += bytes;
    return NULL;
}

ons_status *ons_program_pass_copy_out(const ons_program_pass *share, uint32_t index, uint32_t micro_batch) {
    ons_event *event = share->program->out[index * share->stage->slots + micro_batch % share->stage->slots];
    ons_program_pass_follow_compute(share, share->worker->swap_out);
    uint32_t receive = share->program->receive_of_swap[index]; /* nobody may have read it yet */
    if (receive != ONS_NO_POSITION)
        ons_program_pass_follow_message(share, receive, micro_batch, share->worker->swap_out);
    ONS_TRY(put_copy(share, index, micro_batch, true));
    share->worker->device->event_record(share->worker->swap_out, event);
    return ons_program_pass_leave(
        share, &(ons_pending){share->stage, share->cut->send_count + index, micro_batch, .event = event});
}

ons_status *ons_program_pass_copy_in(const ons_program_pass *share, uint32_t index, uint32_t micro_batch) {
    ons_program_pass_follow_compute(share, share->worker->swap_in);
    share->worker->device->stream_wait(
        share->worker->swap_in, share->program->out[index * share->stage->slots + micro_batch % share->stage->slots]);
    ONS_TRY(put_copy(share, index, micro_batch, false));
    share->worker->device->event_record(share->worker->swap_in, share->program->in[index]);
    return NULL;
}
