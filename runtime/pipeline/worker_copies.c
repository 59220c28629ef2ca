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

static ons_part part_of_copy(const ons_program_pass *x, const ons_cut_swap *swap, bool out) {
    ons_part part = ONS_PART_BEGIN;
    while ((out ? swap->out_after : swap->in_before) >= x->cut->end[part]) ++part;
    return part;
}

static ons_status *put_copy(const ons_program_pass *x, uint32_t index, uint32_t micro_batch, bool out) {
    ons_worker *w = x->w;
    const ons_cut_swap *swap = &x->cut->swaps[index];
    ons_stream *stream = out ? w->swap_out : w->swap_in;
    ons_part part = part_of_copy(x, swap, out);
    ons_turn turn = ons_program_pass_turn(x, part, micro_batch);
    char *device = ons_program_address(x->stage->program, out ? swap->value : swap->back, &turn);
    int64_t bytes = ons_stage_program_bytes(x->stage, swap->value);
    char *host = (char *)w->host + micro_batch % x->stage->slots * w->slot_host_bytes + x->p->host_offset[index];
    const char *name = ons_graph_value(x->cut->graph, swap->value)->name;
    ons_job *job = NULL;
    uint32_t begin = ons_worker_timestamp(w, stream);
    if (!out) ONS_TRY(ons_program_pass_revive(x, swap->back, micro_batch, stream));
    if (w->o.trace != NULL && w->clock == NULL) {
        ONS_TRY(ons_program_pass_job(x, part, micro_batch, &job));
        job->first = out ? 0 : 1;
        job->bytes = (size_t)bytes;
        job->name = name;
        job->track = out ? w->out_track : w->in_track;
        w->device->launch(stream, begin_copy, job);
    }
    w->device->copy(stream, out ? host : device, out ? device : host, (size_t)bytes);
    if (job != NULL) w->device->launch(stream, end_copy, job);
    ons_program_pass_record_span(x, out ? w->out_track : w->in_track, name, "swap", micro_batch, bytes, begin, stream);
    *(out ? &w->traffic.swapped_out_bytes : &w->traffic.swapped_in_bytes) += bytes;
    return NULL;
}

ons_status *ons_program_pass_copy_out(const ons_program_pass *x, uint32_t index, uint32_t micro_batch) {
    ons_event *event = x->p->out[index * x->stage->slots + micro_batch % x->stage->slots];
    ons_program_pass_follow_compute(x, x->w->swap_out);
    uint32_t receive = x->p->receive_of_swap[index]; /* nobody may have read it yet */
    if (receive != ONS_NO_POSITION) ons_program_pass_follow_message(x, receive, micro_batch, x->w->swap_out);
    ONS_TRY(put_copy(x, index, micro_batch, true));
    x->w->device->event_record(x->w->swap_out, event);
    return ons_program_pass_leave(x, &(ons_pending){x->stage, x->cut->send_count + index, micro_batch, .event = event});
}

ons_status *ons_program_pass_copy_in(const ons_program_pass *x, uint32_t index, uint32_t micro_batch) {
    ons_program_pass_follow_compute(x, x->w->swap_in);
    x->w->device->stream_wait(x->w->swap_in, x->p->out[index * x->stage->slots + micro_batch % x->stage->slots]);
    ONS_TRY(put_copy(x, index, micro_batch, false));
    x->w->device->event_record(x->w->swap_in, x->p->in[index]);
    return NULL;
}
