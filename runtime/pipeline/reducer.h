/* Carries out a reduction (runtime/pipeline/reduction.h) for one rank of a ring, on streams of its own, two for each
 * lane. The ranks are the replicas of a device, or the copies of a stage; here both are called replicas.
 *
 *   compute   ──B───────┬─────┬──────┬──(waits)──update──┬──(waits)──
 *   out                 └─pieces─┬─────sums──            └─weights──┘
 *   in                  └─pieces─add──┴sums──            └─weights──┘
 *
 * Buckets go in their order, each as soon as it is complete and its predecessors have begun, so that most of the way
 * lies beside the backward part. Slices of weights are handed over where updates are divided, instead of sums. In the
 * memory of GPUs kernels add, and messages go by NCCL or, where replicas share a GPU, by links (reducer_gpu.c).
 */
#ifndef ONSTAGE_RUNTIME_PIPELINE_REDUCER_H
#define ONSTAGE_RUNTIME_PIPELINE_REDUCER_H

#include <stdatomic.h>

#include "runtime/data/portions.h"
#include "runtime/log/trace.h"
#include "runtime/pipeline/reduction.h"
#include "runtime/transport/circle.h"

typedef struct ons_reducer ons_reducer;

typedef struct ons_reducer_options {
    ons_device_context *device_context; /* started, with room for staging */
    ons_transport *world;
    ons_nccl *nccl;            /* of GPUs: how messages go, … */
    ons_links *links;          /* … one of the two */
    const uint32_t *ranks;     /* of the ring, in the world */
    ons_rank_group rank_group; /* who adds up together, and this one's place among them */
    const ons_reduction *reduction;
    ons_trace_track *tracks[ONS_REDUCTION_IN_FLIGHT]; /* NULL: none. Of GPUs: of messages, of additions */
} ons_reducer_options;

/* What tells when work of a device ran that was only put on a stream. */
typedef struct ons_reducer_clock {
    uint32_t (*begin)(void *context, ons_stream *stream);
    /* From there to the end of what is on the stream. */
    void (*end)(void *context, ons_stream *stream, uint32_t begin, ons_trace_track *track,
                const ons_trace_event *event);
    void *context;
} ons_reducer_clock;

ons_status *ons_reducer_new(const ons_reducer_options *options, ons_reducer **reducer);
void ons_reducer_free(ons_reducer *reducer); /* when its streams have run; NULL is fine */

/* What a step's replicas have. */
typedef struct ons_replica_work {
    uint32_t active;               /* replicas that compute anything: the first ones */
    const uint32_t *micro_batches; /* of each replica */
} ons_replica_work;

/* For the rows of a trace, of GPUs; it outlives the steps. */
void ons_reducer_set_clock(ons_reducer *reducer, const ons_reducer_clock *clock);

/* Waits until its streams are empty, also after a failure. NULL is fine. */
void ons_reducer_drain(ons_reducer *reducer);

/* How kernels meet the same nodes of other replicas, in the replica's micro-batch of that number in the step; `gather`
 * NULL: they do not. */
ons_replicas ons_reducer_replicas(const ons_reducer *reducer, uint32_t micro_batch);

uint32_t ons_reducer_buckets(const ons_reducer *reducer);
/* ons_reduction's `ready` of the program; NULL: it has no sums (validation). */
const uint32_t *ons_reducer_ready(const ons_reducer *reducer, const ons_stage_program *program);

/* Before the micro-batches of a step: running means begin anew where another replica has them. */
void ons_reducer_begin_step(ons_reducer *reducer);
/* Before a forward part, but for a step's first one of this rank, where ranks take micro-batches in turn: running means
 * forget what the others' micro-batches in between would have made them forget. What comes next on `compute` goes on
 * from there. */
void ons_reducer_skip_turns(ons_reducer *reducer, ons_stream *compute);
/* What a thread does while its kernels wait for those of other replicas on the same GPU, which may themselves wait for
 * messages from here. Until it is set again. */
void ons_reducer_set_meanwhile(ons_reducer *reducer, const ons_meanwhile *meanwhile);
/* Before each pass of a step is put on the streams. `cut_off` is set where a message did not go or come. */
void ons_reducer_begin(ons_reducer *reducer, const ons_replica_work *work, uint64_t step, atomic_bool *cut_off);
/* All that this bucket sums is complete when what is on `compute` has run. */
ons_status *ons_reducer_complete(ons_reducer *reducer, uint32_t bucket, ons_stream *compute);
/* What comes next on `compute` waits until everything has been summed, also what nobody has called complete. */
ons_status *ons_reducer_finish(ons_reducer *reducer, ons_stream *compute);
/* All updates have run when what is on `compute` has: what comes next on it waits until weights are whole. */
ons_status *ons_reducer_hand_over_weights(ons_reducer *reducer, ons_stream *compute);

#endif
