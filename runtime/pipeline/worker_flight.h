/* A flight on its way to the streams: shared by worker_flight.c (parts, nodes, copies) and worker_messages.c. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_WORKER_FLIGHT_H
#define ONSTAGE_RUNTIME_PIPELINE_WORKER_FLIGHT_H

#include "runtime/pipeline/worker_state.h"

/* A flight as the micro-batches of one of its programs see it. */
typedef struct ons_half_flight {
    ons_worker *w;
    const ons_flight *f;
    ons_worker_program *p;
    const ons_stage_program *stage;
    const ons_cut_stage *cut;
    uint32_t first, end;                  /* its micro-batches */
    uint32_t *given_back;                 /* [receive]: places released */
    const struct ons_half_flight *halves; /* by program; itself is one of them */
    uint32_t half_count;
} ons_half_flight;

/* worker_flight.c */

/* What a part of a micro-batch is put on the streams by. */
const ons_half_flight *ons_half_flight_of(const ons_half_flight *x, ons_part part, uint32_t micro_batch);
ons_turn ons_half_flight_turn(const ons_half_flight *x, ons_part part, uint32_t micro_batch);
/* A new job of a part; it is the worker's. */
ons_status *ons_half_flight_job(const ons_half_flight *x, ons_part part, uint32_t micro_batch, ons_job **job);
/* What waits on `stream` from here on waits for all that is on the compute stream so far. */
void ons_half_flight_follow_compute(const ons_half_flight *x, ons_stream *stream);
/* By the device's clock, where there is one: from mark `begin` to the end of what is on `stream`. */
void ons_half_flight_record_span(const ons_half_flight *x, ons_trace_track *track, const char *name,
                                 const char *category, uint32_t micro_batch, int64_t bytes, uint32_t begin,
                                 ons_stream *stream);

/* worker_messages.c; `index` is that of the cut's sends or receives */

/* Before all else of the flight: asks for the first messages. */
ons_status *ons_half_flight_begin_messages(const ons_half_flight *x);
ons_status *ons_half_flight_send(const ons_half_flight *x, uint32_t index, uint32_t micro_batch);
/* What comes next on the compute stream waits until the message is there. */
ons_status *ons_half_flight_await(const ons_half_flight *x, uint32_t index, uint32_t micro_batch);
/* A message has been read: the next one may take its place. */
ons_status *ons_half_flight_release(const ons_half_flight *x, uint32_t index, uint32_t micro_batch);

/* A message or copy has left: it is remembered until it is gone. */
ons_status *ons_half_flight_leave(const ons_half_flight *x, const ons_pending *pending);
/* What comes next on the compute stream waits until this is gone. */
ons_status *ons_half_flight_await_gone(const ons_half_flight *x, const ons_pending *pending);
/* The same for one of those remembered, which is forgotten. */
ons_status *ons_half_flight_forget(const ons_half_flight *x, uint32_t index);

#endif
