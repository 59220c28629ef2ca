/* What a worker consists of: shared by worker.c (its life), worker_pass.c, worker_jobs.c, worker_copies.c and
 * worker_messages.c (putting passes on the streams), worker_keep.c and worker_trace.c. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_WORKER_STATE_H
#define ONSTAGE_RUNTIME_PIPELINE_WORKER_STATE_H

#include <stdatomic.h>

#include "base/vector.h"
#include "device/device.h"
#include "runtime/measure/device_clock.h"
#include "runtime/pipeline/worker.h"

/* A channel to or from another device, with the stream that serves it. */
typedef struct ons_worker_channel {
    uint32_t peer, number; /* as the cut has them */
    uint32_t copy, copies; /* which of the peer's, and how many those are */
    uint32_t device;       /* that has it */
    uint32_t period;       /* every so many micro-batches one goes this way, between stages of one size */
    ons_part_kind kind;
    bool sends;
    ons_channel *channel;
    ons_link *link;         /* in the place of the channel, where there are links */
    ons_nccl_channel *nccl; /* in the place of the channel, where there is NCCL */
    ons_stream *stream;
    ons_trace_track *track;
    uint32_t next_receive; /* where messages come in pieces: the one that comes next, … */
    uint64_t next_unit;    /* … from which of the step's units on; UINT64_MAX: none does */
} ons_worker_channel;

/* A program with the events of what leaves and comes. */
typedef struct ons_worker_program {
    const ons_stage_program *stage;
    ons_event **sent;          /* of each send_channel */
    ons_event **arrived;       /* of each receive_channel and place of the receive's ring, at arrived_begin[channel] */
    ons_event **first_arrived; /* of the first half, where messages come in halves, and by one channel: at
                                  ring_begin[receive] and the place */
    ons_event **released;      /* of each receive and place of its ring, at ring_begin[receive] */
    uint32_t *ring_begin, *arrived_begin;
    ons_event **out; /* of each swap and slot */
    ons_event **in;  /* of each swap */
    /* Channels to and from each copy of the other end, at their number behind …_begin[transfer]; ONS_NO_POSITION where
     * no message goes that way. `sent` is for each of the former. */
    uint32_t *send_channel, *receive_channel;
    uint32_t *send_begin, *receive_begin;
    int64_t *host_offset;      /* of each swap, in the host's memory for one slot */
    uint32_t *receive_of_swap; /* the message that brought what is copied to the host; ONS_NO_POSITION: none */
    uint32_t *swap_of_receive; /* what came and is copied to the host; ONS_NO_POSITION: it is not */
} ons_worker_program;

/* An outgoing transfer that is under way: its bytes must not be overwritten before it is gone. */
typedef struct ons_pending {
    const ons_stage_program *program;
    uint32_t transfer, micro_batch;
    uint32_t channel; /* of a message */
    ons_event *event;
    ons_link *link; /* not NULL: a message, in the place of the event */
    uint64_t ticket;
    uint32_t offered; /* timestamp of the device's clock, where there is one */
} ons_pending;

/* A wait of the compute stream within a part. */
typedef struct ons_wait {
    uint32_t position;
    ons_pending pending;
} ons_wait;

typedef struct ons_job ons_job;
struct ons_job {
    ons_worker *worker;
    const ons_pipeline_pass *pass;
    const ons_stage_program *program;
    uint32_t first, end; /* positions */
    ons_sample_half sample_half;
    ons_part part;
    uint32_t micro_batch;
    ons_part_place part_place;
    uint64_t moment; /* of the device's list, where workers take turns */
    ons_step step;
    const ons_step *device_step; /* its copy in the device's memory, where the host cannot access that */
    /* messages and copies */
    ons_value_id value;
    ons_channel *channel;
    ons_nccl_channel *nccl;
    void *address;
    size_t bytes;
    const char *name;
    ons_trace_track *track;
};

/* Something on a stream whose time the device's clock tells when all is done. */
typedef struct ons_timed_span {
    ons_trace_track *track; /* NULL: computing of parts of this kind, for the sums alone */
    ons_trace_event event;
    ons_part_kind kind;
    uint32_t begin, end; /* timestamps */
    double from, to;     /* its share of the time between them; 0, both: all of it */
} ons_timed_span;

/* A pass that is repeated by one call. */
typedef struct ons_recorded_pass {
    ons_pipeline_pass pass; /* one of those that it stands for */
    ons_recording *recording;
    ons_worker_traffic traffic; /* of one */
} ons_recorded_pass;

/* Whether passes are kept: where it is possible, always (a refusal is a failure), never. */
typedef enum ons_keeping { ONS_KEEP_WHERE_POSSIBLE, ONS_KEEP_ALWAYS, ONS_KEEP_NEVER } ons_keeping;

enum { ONS_JOBS_IN_BLOCK = 256 };
typedef struct ons_job_block {
    ons_job jobs[ONS_JOBS_IN_BLOCK];
} ons_job_block;

/* The passes of a step: whole micro-batches, and what is left of the batch. */
enum { ONS_PASSES_AT_ONCE = 2 };

struct ons_worker {
    ons_worker_options o;
    ons_device *device;
    ons_arena *arena;
    ons_stream *compute, *swap_out, *swap_in; /* compute is the device context's */
    ons_event *sync_event;                    /* what other streams wait for in the compute stream */
    ons_event *idle;
    ons_worker_program *programs;
    ons_worker_channel *channels;
    uint32_t channel_count;
    void *host; /* a part for each slot, whichever program's micro-batch is in it */
    int64_t host_bytes, slot_host_bytes;
    ons_trace_track *compute_track, *out_track, *in_track;
    int64_t copy_begin[2];              /* of the copy that runs, for the trace */
    ons_device_clock *clock;            /* of a trace, where work runs later than it is launched; NULL: none */
    ONS_VECTOR(ons_timed_span) spans;   /* since the last wait, by that clock */
    uint32_t first_node, last_node;     /* its timestamps: before the first node of a job, behind the last so far */
    ons_device_context_control control; /* in the device's memory; count 0: there is none */
    ons_step *steps;       /* of the passes since the last wait, on their way there, `control.count` each */
    ons_fault *found;      /* on its way back */
    ons_fault *own;        /* behind it: as it was before others' came to it, where stages have a GPU each */
    bool shared;           /* others' faults have come since the last wait */
    int64_t control_bytes; /* of `steps`, `found` and `own`, which lie in one block */
    uint32_t passes;       /* since the last wait */
    ONS_VECTOR(ons_job_block *) blocks;
    size_t jobs_used;
    ons_worker_traffic traffic;
    ONS_VECTOR(ons_recorded_pass) kept;
    ons_keeping keeping;
    const char *unkept; /* why no more passes are kept than there are; NULL: nothing was refused */
    /* the pass that is being put on the streams */
    ons_pending *pending;
    uint32_t pending_count, pending_capacity;
    ons_wait *waits;
    uint32_t *asked;      /* [channel]: messages that have been asked for */
    uint32_t *given_back; /* [receive]: places released; of the second program behind `most_receives` */
    uint32_t most_receives;
    /* the compute thread's */
    ons_program_fault fault;
    const ons_stage_program *faulty;
    atomic_bool cut_off; /* a message did not go or come: nothing may run that could have needed it */
    ons_worker_busy busy;
};

static inline uint32_t ons_worker_own_copies(const ons_worker *worker) {
    return worker->o.rank_group.in_turn ? worker->o.rank_group.count : 1;
}
static inline uint32_t ons_worker_own_copy(const ons_worker *worker) {
    return worker->o.rank_group.in_turn ? worker->o.rank_group.own : 0;
}

/* Its place among the schedule's devices. */
static inline uint32_t ons_worker_device(const ons_worker *worker) {
    return worker->o.transport == NULL ? 0 : worker->o.transport->rank;
}

/* Units of the step in one micro-batch of the worker's stage, or of the one at the other end of a channel. */
static inline uint32_t ons_worker_size(const ons_worker *worker, const ons_pipeline_pass *pass) {
    return pass->form == ONS_PASS_OF_BATCH ? 1 : ons_units_size(worker->o.sizes, ons_worker_device(worker));
}
static inline uint32_t ons_worker_other_size(const ons_worker *worker, const ons_pipeline_pass *pass,
                                             const ons_worker_channel *channel) {
    return pass->form == ONS_PASS_OF_BATCH ? 1 : ons_units_size(worker->o.sizes, channel->device);
}

/* worker_trace.c: what ran when */
ons_status *ons_worker_open_trace(ons_worker *worker);
void ons_worker_close_trace(ons_worker *worker);
/* Begin and end the nodes of a job, which are launched between the two; the observer is called for each of them. */
void ons_worker_begin_nodes(ons_job *job);
ons_node_observer *ons_worker_node_observer(const ons_worker *worker);
void ons_worker_end_nodes(ons_job *job, int64_t begin);
/* Records a message or copy of a job: on the stream's thread, from `begin` until now. */
void ons_worker_record(const ons_job *job, const char *category, int64_t begin);
/* Record a span by the device's clock, from timestamp `begin` to the end of what is on `stream`; nothing where there is
 * no clock. */
uint32_t ons_worker_timestamp(ons_worker *worker, ons_stream *stream);
void ons_worker_record_span(ons_worker *worker, const ons_timed_span *span, ons_stream *stream);
/* Makes events of spans when all has run, and forgets the spans. */
ons_status *ons_worker_settle_trace(ons_worker *worker);
void ons_worker_drop_spans(ons_worker *worker);

ons_worker_program *ons_worker_find_program(ons_worker *worker, const ons_stage_program *stage);

/* Puts all of a pass but its steps on the streams; the compute stream waits for all that comes of it. */
ons_status *ons_worker_put(ons_worker *worker, const ons_pipeline_pass *pass);

/* Finds the recording that stands for the pass; NULL: there is none. */
const ons_recorded_pass *ons_worker_find_kept(const ons_worker *worker, const ons_pipeline_pass *pass);
/* Puts the recording on the compute stream, and counts what it moves. */
void ons_worker_repeat(ons_worker *worker, const ons_recorded_pass *kept);
void ons_worker_choose_keeping(ons_worker *worker);
void ons_worker_free_kept(ons_worker *worker);

#endif
