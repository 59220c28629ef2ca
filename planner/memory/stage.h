/* One stage as memory strategies see it: its tensors with positions counted from the stage's first node, and a walk
 * that says what a set of decisions costs and needs (the model is described in evaluate.c).
 */
#ifndef ONSTAGE_PLANNER_MEMORY_STAGE_H
#define ONSTAGE_PLANNER_MEMORY_STAGE_H

#include "planner/memory/memory.h"

/* A tensor that the stage makes, reads or saves. Positions are local: 0 is the stage's first node. */
typedef struct ons_stage_tensor {
    int64_t bytes;
    double copy_seconds;              /* to the host, or back */
    uint32_t tensor;                  /* of the workload */
    uint32_t producer;                /* ONS_NO_NODE: it arrives, from another stage or with the data */
    uint32_t born;                    /* forward part from which it is on the device */
    uint32_t last_read;               /* last forward part that reads it; ONS_NO_NODE: none */
    uint32_t last_use;                /* last forward part that needs it; the stage's last where it is sent on */
    uint32_t first_saver, last_saver; /* ONS_NO_NODE: no backward part reads it */
    bool can_swap, can_recompute;     /* candidates; both need a saver */
    bool can_rerun;                   /* its producer is in the stage and may run again */
} ons_stage_tensor;

/* One step of a search. */
typedef struct ons_move {
    uint32_t tensor;
    uint8_t decision;
} ons_move;

enum { ONS_DECISION_SETS = 4 };

/* When a copy back to the device starts. */
typedef enum ons_prefetch {
    ONS_PREFETCH_HIDDEN, /* at the last backward part from which nothing waits for it; the first where none is early
                            enough */
    ONS_PREFETCH_NEVER,  /* right before it is needed: least memory, nothing hidden */
    ONS_PREFETCH_GIVEN,  /* as workspace.in_before says */
} ons_prefetch;

typedef struct ons_walk {
    double seconds, recompute_seconds, stall_seconds;
    int64_t stash, peak, total; /* see ons_stage_memory */
    uint32_t peak_part;         /* the part that needs most, the first of several */
} ons_walk;

/* Part of the compute stream in one period: forward parts, then for each backward part what is run again for it. */
typedef struct ons_stage_part {
    double start, seconds;
    int64_t bytes; /* beside tensors: gradients, scratch */
} ons_stage_part;

struct ons_memory_workspace {
    const ons_workload *work;
    ons_arena *arena; /* everything here */

    /* The stage, set by ons_stage_open. */
    const ons_stage_problem *problem;
    ons_stage_memory base; /* of ons_work_stage_memory, whose peak and stash the walk replaces */
    uint32_t node_count, tensor_count, candidate_count;
    ons_stage_tensor *tensors; /* those that arrive, then by producer */
    uint32_t *candidates;      /* tensors that can be swapped or recomputed, ascending */
    uint32_t *by_saver;        /* the tensors by falling last saver: nearly the order in which they are needed */
    uint32_t *local;           /* of a workload's tensor, for those of this stage */
    uint32_t *local_stage;     /* number of the opening in which `local` was written */
    uint32_t opening;
    int64_t *gradient_alive;  /* [position]: while its backward part runs, its scratch included */
    int64_t *gradient_before; /* [position]: right before */
    /* Whole ticks (see ons_stage_open), by position. */
    double *forward_seconds, *backward_seconds;
    double period_seconds;  /* the problem's, in whole ticks */
    double forward_end;     /* where the first backward part starts, in the period */
    double compute_seconds; /* forward and backward */

    /* Of the last walk, by tensor unless said otherwise. */
    uint32_t *in_before;                  /* local position: of swapped and recomputed tensors */
    uint32_t *out_after;                  /* local position, of swapped ones */
    uint32_t *first_source, *last_source; /* parts that run again and read it; ONS_NO_NODE: none */
    uint32_t *first_source_slot;          /* position whose backward part `first_source` precedes */
    uint32_t *need, *start;               /* part before which a swapped tensor must be back; its copy's first part */
    double *out_end, *in_end;             /* of its copies; out_end counts from the start of its own forward part */
    uint32_t *by_out;                     /* swapped tensors by out_after */
    uint64_t *gone_from; /* of swapped ones: the part, counted on over the periods, from which they may be gone */
    uint32_t *swaps, *by_start;            /* swapped tensors by `need`, and by `start` */
    uint32_t *wake_head, *wake_next;       /* [position]: recomputed tensors with that in_before */
    uint32_t *reruns, *rerun_slot;         /* nodes in the order in which they run again, and for whom */
    uint32_t *rerun_part, *rerun_walk;     /* [node]: its part; number of the walk in which it was written */
    uint32_t *stack;                       /* of nodes */
    uint32_t *group_begin, *backward_part; /* [position]: first part that belongs to its backward part; that part */
    ons_stage_part *parts;
    int64_t *changes; /* of the bytes of tensors, by part */
    uint32_t rerun_count, part_count, swap_count, walk_number;

    /* For strategies: not touched by walks. */
    uint8_t *decisions[ONS_DECISION_SETS]; /* sets of decisions, by tensor; [0] is evaluate's */
    uint32_t *order;                       /* candidates */
    double *score;                         /* by tensor */
    ons_move *moves;
    double *link_slack;  /* [position] */
    double link_busy;    /* seconds of copies of one direction in a period */
    uint8_t *rerun_flag; /* [node] */
    uint32_t *visited;   /* [node]: number of the visit */
    int64_t *crossing;   /* [position] */
    uint32_t *boundary;  /* [position] */
    double *layer_score; /* [position] */
    uint32_t visit;
};

/* Finds tensors, candidates and gradients of the problem's stage: O(its edges). Times become whole ticks of 2^-44 s, so
 * that sums of them are exact in any order up to 512 s: which of two sets of decisions is slower is not a matter of
 * rounding. */
void ons_stage_open(ons_memory_workspace *workspace, const ons_stage_problem *problem);

/* `decisions[t]` (ons_decision) for every local tensor. O(nodes + edges + swaps log swaps). */
void ons_stage_walk(ons_memory_workspace *workspace, const uint8_t *decisions, ons_prefetch prefetch, ons_walk *walk);

/* Writes the solution; walks once more for the triggers. `decisions` NULL: nothing is decided and `walk` need not be
 * set. `arena` NULL: the list of decisions is not wanted. */
ons_status *ons_stage_close(ons_memory_workspace *workspace, const uint8_t *decisions, ons_prefetch prefetch,
                            ons_arena *arena, ons_stage_solution *solution);

/* Writes the solution of a stage that even the strategy's least memory does not fit. */
void ons_stage_refuse(ons_memory_workspace *workspace, int64_t least_bytes, ons_stage_solution *solution);

/* Tests whether the stage fits as it is, by ons_work_stage_memory or by its walk; then the solution is written. */
bool ons_stage_fits(ons_memory_workspace *workspace, const ons_stage_problem *problem, ons_stage_solution *solution);

/* Finds the least memory of recomputing everything that can be, over a few spacings of checkpoints: what lies over a
 * cut between two segments is kept, or swapped where `swap` says so and there is a link. Writes `best`; uses `scratch`.
 */
void ons_stage_recompute_all(ons_memory_workspace *workspace, bool swap, ons_prefetch prefetch, uint8_t *best,
                             uint8_t *scratch, ons_walk *walk);

/* Hands every set of decisions that vpipe-layers comes by, with its walk (ONS_PREFETCH_HIDDEN), to `note`: ever less
 * memory, until that returns true. Where it never does, the sets in which all layers are swapped or recomputed come
 * last. Uses `decisions`. */
typedef bool ons_stage_note(void *context, const uint8_t *decisions, const ons_walk *walk);
void ons_stage_try_layers(ons_memory_workspace *workspace, uint8_t *decisions, ons_stage_note *note, void *context);

ons_memory_solve ons_memory_solve_none, ons_memory_solve_recompute_all, ons_memory_solve_capuchin,
    ons_memory_solve_exact, ons_memory_solve_recompute_stage, ons_memory_solve_recompute_layers,
    ons_memory_solve_vpipe_layers;

#endif
