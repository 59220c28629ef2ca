/* A pipeline's actions as tasks of the simulator: computations in the order of each device's list, copies to the host
 * and back on streams of their own, and transfers between stages.
 *
 *   compute    F ─────────┐      B        a transfer occupies the sender's send stream and the receiver's
 *   send        ····[activation]····      receive stream; it starts when its value is there and the receiver has
 *   receive     ····[activation]····      room: for one micro-batch ahead of the one that is computed
 *
 * A value is there when it was made, which may be before its part ends, and a part waits for it where it is first read,
 * which may be after its beginning.
 *
 * What leaves without asking (planner/partition/link.h) occupies the streams for its bytes alone, is on its way for the
 * latency, and needs the room when it arrives.
 */
#ifndef ONSTAGE_PLANNER_SIMULATE_PIPELINE_TASKS_H
#define ONSTAGE_PLANNER_SIMULATE_PIPELINE_TASKS_H

#include "planner/simulate/simulate.h"
#include "planner/simulate/stage_tasks.h"

/* Two stages with copies of the same trained weights: at the end of a synchronous step each sends the other what it has
 * added up. (Not simulated where the schedule is asynchronous: waiting for it after every micro-batch would undo that.)
 */
typedef struct ons_stage_tie {
    uint32_t first, second;
    int64_t bytes; /* each way */
} ons_stage_tie;

/* All that the simulation of a split needs to know of it. */
typedef struct ons_pipeline_parts {
    ons_stage_tasks *stages;
    ons_stage_link *links;
    ons_stage_tie *ties;
    uint32_t link_count, tie_count;
} ons_pipeline_parts;

/* How a device's streams are numbered in the simulation: device · ONS_DEVICE_STREAMS + stream. */
enum {
    ONS_STREAM_COMPUTE,
    ONS_STREAM_SEND,
    ONS_STREAM_RECEIVE,
    ONS_STREAM_SWAP_OUT,
    ONS_STREAM_SWAP_IN,
    ONS_STREAM_LOCAL, /* what takes no time: values between stages of one device, memory that is freed */
    ONS_DEVICE_STREAMS
};

typedef struct ons_pipeline_tasks {
    ons_split split;
    const ons_schedule *schedule; /* the split's */
    uint32_t micro_batches;       /* of the schedule */
    ons_stage_tasks *stages;      /* input and weight gradients apart, where lists have them so */
    ons_stage_tasks *whole;       /* the stages with every backward part whole */
    ons_stage_link *links;
    ons_stage_tie *ties;
    uint32_t link_count, tie_count;
    uint32_t *first_copy; /* [stage]: copies are numbered stage by stage */
    uint32_t copy_count;
    bool *halved; /* [stage · micro_batches + micro-batch]: the forward part is in halves */
    bool *apart;  /* [ons_pipeline_place + micro-batch]: the backward part is that of input gradients alone */
    /* Tasks, set by ons_pipeline_tasks_run: */
    ons_task_id **forward, **backward;             /* [stage][micro-batch · pieces + piece], copy behind copy:
                                                      ons_pipeline_pieces */
    ons_task_id *forward_half;                     /* [ons_pipeline_place + micro-batch]: the first half, where the part
                                                      is in halves; `forward` has the second one's pieces */
    ons_task_id *before_forward, *before_backward; /* [ons_pipeline_place + micro-batch]: the device's task in front;
                                                      ONS_NO_TASK: none */
    uint32_t *forward_order, *backward_order;      /* [ons_pipeline_place + i]: the i-th micro-batch */
    uint32_t *forward_count, *backward_count;      /* [number of the copy] */
} ons_pipeline_tasks;

/* Gives where the micro-batches of a stage's copy begin; where it has one, at stage · micro_batches. */
static inline size_t ons_pipeline_place(const ons_pipeline_tasks *tasks, uint32_t stage, uint32_t copy) {
    return (size_t)stage * tasks->micro_batches +
           (size_t)copy * ons_schedule_copy_micro_batches(tasks->schedule, stage);
}
/* Gives the tasks of a part's pieces; `place`: of a micro-batch of the stage, by ons_pipeline_place. */
static inline ons_task_id *ons_pipeline_pieces(const ons_pipeline_tasks *tasks, uint32_t stage, size_t place,
                                               bool backward) {
    size_t number = place - (size_t)stage * tasks->micro_batches;
    const ons_stage_tasks *t = &tasks->stages[stage];
    return backward ? tasks->backward[stage] + number * t->backward_count
                    : tasks->forward[stage] + number * t->forward_count;
}
/* Counts the units of a step from `unit` on that one message over the link has: those that a micro-batch of the one
 * stage and one of the other have in common. `unit` is the first of them. */
uint32_t ons_stage_link_units(const ons_schedule *schedule, const ons_stage_link *link, uint32_t unit);
/* Gives the part of a micro-batch's bytes, where it has `size` units, that so many units from `unit` on have; all parts
 * add up to the whole. */
int64_t ons_stage_link_share(int64_t bytes, uint32_t size, uint32_t unit, uint32_t units);
/* Gives the bytes of the message over the link whose first unit is `unit`. */
int64_t ons_stage_link_bytes(const ons_schedule *schedule, const ons_stage_link *link, bool gradient, uint32_t unit);

/* Makes everything that does not depend on the order of transfers. `solutions` NULL: nothing is swapped or recomputed.
 * What is pointed to must outlive the result, which lives in `arena`. */
ons_status *ons_pipeline_tasks_make(const ons_split *split, const ons_stage_solution *solutions, ons_arena *arena,
                                    ons_pipeline_tasks *tasks);

/* Takes the tasks from parts that were made before, as a plan holds them: of the split only the problem's pipeline and
 * links are looked at. */
ons_status *ons_pipeline_tasks_take(const ons_split *split, const ons_pipeline_parts *parts, ons_arena *arena,
                                    ons_pipeline_tasks *tasks);

/* Finds the links of the split by [from · stages + to], for ons_stage_tasks_make. */
ons_status *ons_pipeline_links_find(const ons_split *split, ons_arena *arena, ons_stage_link **pairs);
/* Makes links and ties, from these and the tasks of the stages. */
ons_status *ons_pipeline_links_make(ons_pipeline_tasks *tasks, ons_stage_link *pairs, ons_arena *arena);

/* Checks whether the schedule can run where stages exchange values over these links alone (ons_schedule_verify): what
 * skips stages waits on the side. */
ons_status *ons_stage_links_verify(const ons_stage_link *links, uint32_t count, const ons_schedule *schedule,
                                   ons_arena *arena);

/* Adds all tasks to an empty simulation and runs it.
 *
 * Streams serve in the order of adding, so transfers need an order. They are therefore simulated twice: first with
 * links that never make anybody wait, then in the order in which they started there. That order agrees with every
 * dependency, so no transfer can hang behind one that waits for it. */
ons_status *ons_pipeline_tasks_run(ons_pipeline_tasks *tasks, ons_arena *arena, ons_simulation **simulation);

#endif
