/* One stage's work for one micro-batch as pieces for the simulator: whole where nothing is swapped or recomputed,
 * otherwise cut where a copy starts or is waited for, and where something is computed again; and where time has passed
 * before another stage's message is read for the first time.
 */
#ifndef ONSTAGE_PLANNER_SIMULATE_STAGE_TASKS_H
#define ONSTAGE_PLANNER_SIMULATE_STAGE_TASKS_H

#include "planner/partition/partition.h"

typedef struct ons_stage_piece {
    ons_action_kind kind; /* forward, backward, recompute */
    double seconds;
    int64_t start_bytes, end_bytes; /* change of memory: up to the most that the piece needs, and back */
    /* Of a backward piece, for schedules in which weight gradients are actions of their own: */
    double weight_seconds;                 /* of `seconds`, those of weight gradients */
    int64_t kept_start_bytes, freed_bytes; /* the most that it needs where nothing is freed before its end; what is */
} ons_stage_piece;

/* A tensor that is swapped. Pieces are numbered in the order in which they run. */
typedef struct ons_stage_copy {
    uint32_t tensor;
    const char *name; /* of the tensor; may be NULL */
    int64_t bytes;
    double seconds;
    uint32_t out_after; /* forward piece at whose end the copy to the host starts */
    uint32_t used_by;   /* forward piece at whose end its memory may be freed, once the copy has ended */
    uint32_t in_before; /* backward piece in front of which the copy back starts */
    uint32_t needed_by; /* backward piece that needs it */
    /* The plan counts on its memory from a piece on that the device holds back until then: a forward piece, or one of
     * the backward part that follows (the other is ONS_NO_NODE), as many forward parts later. Both ONS_NO_NODE: the
     * plan counts it as kept. */
    uint32_t gone_forward, gone_backward;
    uint32_t gone_later;
} ons_stage_copy;

/* Where a message leaves the sender's part, and where the receiver's waits for it. Pieces of a forward part; of a
 * gradient, of a backward part. */
typedef struct ons_message_ends {
    uint32_t made_by;            /* the sender's piece that makes the last value of it */
    double early_seconds;        /* before that piece's end */
    double early_weight_seconds; /* of these, those of weight gradients */
    uint32_t read_by;            /* the receiver's piece that begins with reading the first value of it */
} ons_message_ends;

/* What goes from a stage straight to a later one for each micro-batch, and what comes back: of the sender's own
 * micro-batches. A message has its units' share. */
typedef struct ons_stage_link {
    uint32_t from, to;
    bool gradient;
    int64_t bytes, gradient_bytes;
    int64_t freed_bytes;                       /* by the sender when the values were sent */
    int64_t taken_bytes, taken_gradient_bytes; /* of the values that `bytes` count, for a micro-batch of the receiver */
    ons_message_ends ends, gradient_ends;
} ons_stage_link;

typedef struct ons_stage_tasks {
    ons_stage_piece *forward, *backward;
    uint32_t forward_count, backward_count;
    bool divisible;                  /* the backward pieces say what of them is weight gradients */
    ons_stage_piece weight_gradient; /* where it is apart: `backward` is the input gradient alone, and frees nothing */
    double reduce_seconds;           /* in front of the update: what is left to do of the sum over replicas */
    double update_seconds;
    int64_t held_bytes; /* weights, their gradients, states and versions: there all the time */
    ons_stage_copy *copies;
    uint32_t copy_count;
    uint32_t *by_out, *by_used, *by_in, *by_needed, *by_gone_forward, *by_gone_backward; /* copies by rising piece */
    uint32_t *sent; /* tensors that only a later stage still needs after the forward part */
    uint32_t sent_count;
} ons_stage_tasks;

/* A workload split into stages: what ons_stage_tasks_make and the transfers look at. */
typedef struct ons_split {
    const ons_planning_problem *problem;
    const uint32_t *first; /* stages + 1 positions */
    uint32_t stages;
    const ons_schedule *schedule;
} ons_split;

uint32_t ons_split_stage_of(const ons_split *split, uint32_t position);
/* Tests whether the part of an ascending list in [from, end) is not empty; its first and last item. */
bool ons_within(const uint32_t *list, uint32_t count, uint32_t from, uint32_t end, uint32_t *first, uint32_t *last);

/* `solution` NULL: nothing decided. `pairs`: links by [from · stages + to], `to` 0 where there is none; their ends name
 * positions, and those at this stage become pieces. Everything in `arena`; the workspace is that of the split's
 * workload. Fails on decisions that ons_memory_evaluate refuses. */
ons_status *ons_stage_tasks_make(const ons_split *split, uint32_t stage, const ons_stage_solution *solution,
                                 ons_stage_link *pairs, ons_memory_workspace *workspace, ons_arena *arena,
                                 ons_stage_tasks *tasks);

/* Takes the backward part of divisible tasks apart: input gradients, which free nothing, and one piece of weight
 * gradients, which frees all. In `arena`; what is not changed is shared. */
ons_status *ons_stage_tasks_divide(const ons_stage_tasks *tasks, ons_arena *arena, ons_stage_tasks *divided);

/* Makes the by_… lists, from copies that refer to pieces. */
ons_status *ons_stage_tasks_sort(ons_stage_tasks *tasks, ons_arena *arena);

#endif
