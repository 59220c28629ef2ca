/* How a pass is put on the streams: shared by worker_pass.c (parts) and the files named below. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_WORKER_PASS_H
#define ONSTAGE_RUNTIME_PIPELINE_WORKER_PASS_H

#include "runtime/pipeline/worker_state.h"

/* The share of a pass that runs one of its programs. */
typedef struct ons_program_pass {
    ons_worker *worker;
    const ons_pipeline_pass *pass;
    ons_worker_program *program;
    const ons_stage_program *stage;
    const ons_cut_stage *cut;
    uint32_t first, end;                   /* its micro-batches */
    uint32_t *given_back;                  /* [receive]: places released */
    const struct ons_program_pass *shares; /* by program; itself is one of them */
    uint32_t share_count;
} ons_program_pass;

/* worker_pass.c */

/* Finds the share that a part of a micro-batch belongs to. */
const ons_program_pass *ons_program_pass_of(const ons_program_pass *share, ons_part part, uint32_t micro_batch);
/* Tests whether a part is its program's last, which updates the weights. */
static inline bool ons_program_pass_is_end(const ons_program_pass *share, ons_part part) {
    return ons_stage_program_kind(share->stage, part) == ONS_PART_END;
}
/* Tests whether the forward part of a stage's micro-batch is in two halves. */
static inline bool ons_program_pass_is_halved(const ons_program_pass *share, uint32_t stage, uint32_t micro_batch) {
    return share->pass->halved != NULL && share->pass->halved[(size_t)stage * share->pass->micro_batches + micro_batch];
}
/* `stream` waits for all that is on the compute stream so far. */
void ons_program_pass_follow_compute(const ons_program_pass *share, ons_stream *stream);

/* worker_jobs.c */

/* Where a part of a micro-batch finds its values: the micro-batch's slots and, where updates come between
 * micro-batches, the version of the weights. */
ons_part_place ons_program_pass_place(const ons_program_pass *share, ons_part part, uint32_t micro_batch);
/* Makes a job of a part; the worker owns it. */
ons_status *ons_program_pass_job(const ons_program_pass *share, ons_part part, uint32_t micro_batch, ons_job **job);
/* Puts on the compute stream, before all else of the pass, the copy to the device of what kernels read of its steps;
 * nothing where the host's memory is the device's. */
ons_status *ons_program_pass_put_steps(const ons_program_pass *share);
/* Puts on the compute stream the nodes of a part at positions `first` to before `end`, for those samples. */
ons_status *ons_program_pass_compute(const ons_program_pass *share, ons_part part, uint32_t micro_batch, uint32_t first,
                                     uint32_t end, ons_sample_half sample_half);
/* Put there the caller's functions that fill the inputs of a part, and that read what it has made. */
ons_status *ons_program_pass_put_load(const ons_program_pass *share, ons_part part, uint32_t micro_batch);
ons_status *ons_program_pass_put_read(const ons_program_pass *share, ons_part part, uint32_t micro_batch);
/* Puts there the wait for the part's turn, where two workers share the device; nothing where a worker is alone. */
ons_status *ons_program_pass_put_turn(const ons_program_pass *share, ons_part part, uint32_t micro_batch);

/* worker_trace.c */

/* Records a span by the device's clock, where there is one: from timestamp `begin` to the end of what is on `stream`.
 */
void ons_program_pass_record_span(const ons_program_pass *share, ons_trace_track *track, const char *name,
                                  const char *category, uint32_t micro_batch, int64_t bytes, uint32_t begin,
                                  ons_stream *stream);

/* worker_poison.c; nothing is put on a stream where the program poisons nothing */

/* Puts on the compute stream that a value's place holds nothing from there on; on `stream`, that it holds something. */
ons_status *ons_program_pass_bury(const ons_program_pass *share, ons_value_id value, uint32_t micro_batch);
ons_status *ons_program_pass_revive(const ons_program_pass *share, ons_value_id value, uint32_t micro_batch,
                                    ons_stream *stream);
/* Buries what has left, which was waited for until it was gone, and which no node needs any more. */
ons_status *ons_program_pass_bury_pending(const ons_program_pass *share, const ons_pending *pending);
/* Buries what has left and was waited for because a node at `position` puts something over it, unless it may still be
 * read: by that node, of the same micro-batch, whose result takes its place, or by nodes of another program. */
ons_status *ons_program_pass_bury_overwritten(const ons_program_pass *share, const ons_pending *pending,
                                              uint32_t micro_batch, uint32_t position);

/* worker_copies.c; `index` is that of the cut's swaps */

/* Copies what the swap is of to the host, behind what is on the compute stream so far; until it is there it is pending.
 */
ons_status *ons_program_pass_copy_out(const ons_program_pass *share, uint32_t index, uint32_t micro_batch);
/* Copies it back, behind its copy to the host. */
ons_status *ons_program_pass_copy_in(const ons_program_pass *share, uint32_t index, uint32_t micro_batch);

/* worker_messages.c; `index` is that of the cut's sends or receives */

/* Asks for the first messages of the pass, before all else of it. */
ons_status *ons_program_pass_begin_messages(const ons_program_pass *share);
/* Asks for whatever others have for this stage and it has places for. */
ons_status *ons_program_pass_receive_ahead(const ons_program_pass *share);
/* Sends what is there once those samples have been computed. */
ons_status *ons_program_pass_send(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                  ons_sample_half sample_half);
/* `stream` waits until all of the message that was asked for has come. */
void ons_program_pass_follow_message(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                     ons_stream *stream);
/* Makes the compute stream wait until what those samples need of the message has come. */
ons_status *ons_program_pass_await(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                   ons_sample_half sample_half);
/* Frees the place of a message that has been read: the next one may take it. */
ons_status *ons_program_pass_release(const ons_program_pass *share, uint32_t index, uint32_t micro_batch);

/* Notes that a message or copy has left: it is pending until it is gone. */
ons_status *ons_program_pass_leave(const ons_program_pass *share, const ons_pending *pending);
/* Makes the compute stream wait until a pending one is gone. */
ons_status *ons_program_pass_await_gone(const ons_program_pass *share, const ons_pending *pending);
/* Makes the compute stream wait for pending number `index`, which is pending no more. */
ons_status *ons_program_pass_forget(const ons_program_pass *share, uint32_t index);

#endif
