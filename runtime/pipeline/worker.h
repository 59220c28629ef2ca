/* Carries out a stage's actions on its streams: computing, messages, copies to the host and back.
 *
 *   compute    ──load──F0──────F1────────B0───F2───     nodes, in the order of the stage's list of actions
 *   swap out          └─t0─┐                            waits for the node behind which the copy may start
 *   swap in                  (host)     └─t0─┐          the next reader waits for it
 *   a stream for each channel: messages in the order in which both ends know them
 *
 * The host puts everything on the streams and runs ahead; what depends on what is said by events alone. After the first
 * passes of each kind nothing is allocated.
 */
#ifndef ONSTAGE_RUNTIME_PIPELINE_WORKER_H
#define ONSTAGE_RUNTIME_PIPELINE_WORKER_H

#include "planner/schedule/device_groups.h"
#include "runtime/data/portions.h"
#include "runtime/log/trace.h"
#include "runtime/pipeline/reducer.h"
#include "runtime/pipeline/turns.h"
#include "runtime/program/stage_program.h"
#include "runtime/program/units.h"
#include "runtime/transport/links.h"
#include "runtime/transport/transport_nccl.h"

typedef struct ons_worker ons_worker;

typedef struct ons_worker_options {
    ons_device_context *device_context; /* started */
    ons_transport *transport;           /* whose ranks are the schedule's devices; NULL: there is one stage */
    ons_links *links;                   /* messages go this way, not by the transport; NULL: there are none */
    ons_nccl *nccl;   /* messages go by NCCL; ons_worker_connect is called before the first pass. NULL: there is none */
    ons_fault *fault; /* in the device's memory, shared by all stages; NULL: the device context's own */
    ons_reducer *reducer;           /* sums over the replicas of this device; NULL: there is one */
    uint32_t stage;                 /* the number of the device in the cut: of its group, where there are copies */
    const ons_device_group *groups; /* by number, as the cut's transfers name their peers; NULL: each is a device */
    const uint32_t *sizes; /* [device]: units of a step in a micro-batch of its stages (runtime/program/units.h); NULL:
                              one everywhere */
    uint32_t replica;      /* of the whole pipeline, which messages and traces name; `transport` has its ranks */
    ons_rank_group rank_group; /* of `reducer`: replicas, or copies of the stage */
    ons_turn_end turns;        /* where another worker computes on the same device; it outlives the worker */
    const ons_stage_program *const *programs; /* all that will run; they outlive the worker */
    uint32_t program_count;
    ons_trace *trace; /* NULL: none. Not while another thread adds tracks */
} ons_worker_options;

ons_status *ons_worker_new(const ons_worker_options *options, ons_worker **worker);
void ons_worker_free(ons_worker *worker); /* NULL is fine; before the device context, the transport and the links */

/* Connects the ranks where there is NCCL: all of them meet here, each by a thread of its own, before the first pass. */
ons_status *ons_worker_connect(ons_worker *worker);

/* Waits until all streams are empty, also after a failure: what others' links refer to may be freed then. NULL is fine.
 */
void ons_worker_drain(ons_worker *worker);

/* How the micro-batches of different stages stand to each other in a pass, where stages have sizes of their own. */
typedef enum ons_pass_form {
    ONS_PASS_OF_STEP,  /* each stage's are as many units as its size: between different sizes messages go in pieces */
    ONS_PASS_OF_REST,  /* there is one, which all stages compute at once: it begins at a unit that does so for all */
    ONS_PASS_OF_BATCH, /* all stages compute the same ones, and number them alike: validation */
} ons_pass_form;

/* A pipeline pass takes micro-batches through the stage and back. */
typedef struct ons_pipeline_pass {
    ons_lineup lineup;
    ons_action_list actions; /* forward, backward and update actions of this stage; micro-batches count from 0 */
    uint32_t micro_batches;  /* of this stage */
    ons_pass_form form;
    bool begins;  /* the part of the beginning runs first */
    bool updates; /* update actions are carried out */
    bool asynchronous;
    uint32_t version;              /* asynchronous: of the newest weights */
    uint32_t number, stride;       /* the micro-batches are the stage's number, number + stride, …; stride 0: 1 */
    ons_step step;                 /* of the first micro-batch, which is numbered by its first unit; the others have its
                                      sample_share, too, … */
    double second_share;           /* … but for those that run the second program */
    uint64_t update;               /* number of the first update, for the optimiser */
    const double *counted_targets; /* of each micro-batch; NULL: as in step */
    /* [stage · micro_batches + micro-batch], of all devices' stages: its forward part is in two halves; NULL: none is.
     * Where both ends of a message are, it comes in two. */
    const bool *halved;
    ons_replica_work replicas; /* of the whole step, where there is a reducer and the pass updates */
    /* Runs on the compute stream before a forward part (and before a backward part that reads data of its own): puts
     * the data of micro-batch `micro_batch` where it belongs (ons_program_address_to_write with this place), by
     * ons_worker_transfer. */
    void (*load)(void *context, uint32_t micro_batch, ons_part part, const ons_part_place *part_place);
    /* Runs on the compute stream after a backward part (a forward part where there is no other): reads results, which
     * are there when ons_worker_wait returns. May be NULL. */
    void (*read)(void *context, uint32_t micro_batch, const ons_part_place *part_place);
    void *context;
    /* Passes with the same number let load and read copy from and to the same places of the host's memory. 0: none
     * does. */
    uint32_t places;
} ons_pipeline_pass;

/* Gives the number that a micro-batch of the pass has among all of its stage in the step. */
static inline uint64_t ons_pipeline_pass_number(const ons_pipeline_pass *pass, uint32_t micro_batch) {
    uint32_t stride = pass->stride == 0 ? 1 : pass->stride;
    return pass->number + (uint64_t)micro_batch * stride;
}

/* Puts a pass on the streams; it and all that it points to must live until ons_worker_wait. */
ons_status *ons_worker_launch(ons_worker *worker, const ons_pipeline_pass *pass);

/* Records what such a pass puts on the streams, where the device can and nothing in it is done by the host (messages, a
 * trace): ons_worker_launch repeats it from then on by one call. For passes with `places`, once one of the program has
 * run and while nothing runs. Where the device refuses, nothing more is recorded from then on; where recordings do not
 * fit under the cap, they are given up one at a time until the others do. A user's ONSTAGE_CUDA_GRAPHS=on makes either
 * a failure, and =off spares both. */
ons_status *ons_worker_keep(ons_worker *worker, const ons_pipeline_pass *pass);

/* Says why no more passes are recorded; NULL: nothing was refused. *kept: how many are. */
const char *ons_worker_unkept(const ons_worker *worker, size_t *kept);

/* Waits until everything is done. A fault of the data is in *fault (node ONS_NONE and problem NULL: none), with the
 * program in which it was found; the failure is of the world around. */
ons_status *ons_worker_wait(ons_worker *worker, ons_program_fault *fault, const ons_stage_program **where);

/* Copies between the host's memory and the device's, for a pass's `load` and `read` alone; what is in the host's must
 * stay until ons_worker_wait. */
void ons_worker_transfer(ons_worker *worker, void *to, const void *from, size_t bytes);

ons_device_context *ons_worker_device_context(const ons_worker *worker);

/* Bytes of host memory for copies, and copied so far. */
typedef struct ons_worker_traffic {
    int64_t host_bytes;
    int64_t swapped_out_bytes, swapped_in_bytes, sent_bytes, received_bytes;
} ons_worker_traffic;
ons_worker_traffic ons_worker_get_traffic(const ons_worker *worker);

/* Nanoseconds in which the stage has computed so far, by part; not while a pass is on the streams. */
typedef struct ons_worker_busy {
    int64_t of_part[ONS_PART_KINDS];
} ons_worker_busy;
ons_worker_busy ons_worker_get_busy(const ons_worker *worker);

#endif
