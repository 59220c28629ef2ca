/* Memory optimisation of one stage: which saved tensors stay, which are swapped to the host, which are computed again.
 *
 * Capuchin (ASPLOS 2020) for training with one micro-batch, corrected for pipelines: what is freed counts once for each
 * micro-batch in flight, the time in which a copy can hide spans the micro-batches in between, and what a period copies
 * must fit the host link in that period (DawnPiper, section 4.3; Algorithm 2, MemOpt).
 */
#ifndef ONSTAGE_PLANNER_MEMORY_MEMORY_H
#define ONSTAGE_PLANNER_MEMORY_MEMORY_H

#include "base/status.h"
#include "planner/workload/workload.h"

typedef enum ons_decision { ONS_KEEP, ONS_SWAP, ONS_RECOMPUTE } ons_decision;

typedef struct ons_stage_problem {
    const ons_workload *work;
    uint32_t first, end; /* positions */
    ons_stage_load load;
    int64_t capacity_bytes; /* of the device, for this stage; 0: no limit */
    double host_bandwidth;  /* bytes a second between device and host, each way; 0: no swapping */
    double host_latency;    /* seconds for each copy */
    double host_share;      /* of a copy's time, what computing loses: 0 where copies run beside it (a GPU's engines, a
                               processor that is idle), 1 where the processors that compute make them */
    double period_seconds;  /* between two micro-batches in the steady state, where another stage dictates it; 0: this
                               stage does */
    bool any_solution;      /* it is only asked whether it fits: the first solution that does will do */
    double limit_seconds;   /* what takes longer is as good as what does not fit, and least_bytes is then not known: a
                               strategy may give up early. 0: no limit */
} ons_stage_problem;

/* One tensor that does not stay. */
typedef struct ons_tensor_decision {
    uint32_t tensor;
    ons_decision decision;
    /* Positions in the workload. Swap: the copy to the host starts after the forward part of `out_after` (≥ the
     * producer; later ones may still read it), the copy back before the backward part of `in_before` (≥ the last saver)
     * and what runs again for it. Recompute: before the backward part of `in_before`; `out_after` is the last forward
     * use.
     */
    uint32_t out_after, in_before;
    uint32_t
        gone_before; /* swap: the copy to the host has ended before the forward part of this position, for the same
                        micro-batch; ONS_NO_NODE: not before the stage's forward part ends. Recompute: ONS_NO_NODE */
} ons_tensor_decision;

typedef struct ons_stage_solution {
    bool feasible;
    double seconds;                 /* forward, backward, recompute and waiting for copies, for one micro-batch */
    double recompute_seconds;       /* of these */
    double stall_seconds;           /* of these: copies that nothing hides */
    ons_stage_memory memory;        /* with the decisions */
    int64_t least_bytes;            /* where not feasible: the smallest capacity that this strategy can meet */
    ons_tensor_decision *decisions; /* NULL where they were not asked for */
    uint32_t decision_count;
} ons_stage_solution;

/* Scratch memory of a strategy, reused from call to call: a search asks about thousands of stages. */
typedef struct ons_memory_workspace ons_memory_workspace;
ons_status *ons_memory_workspace_new(const ons_workload *work, ons_memory_workspace **workspace);
void ons_memory_workspace_free(ons_memory_workspace *workspace); /* NULL is fine */

/* `arena` NULL: the decisions are not wanted. A stage that fits as it is comes back at once, nothing decided.
 * More capacity never gives a slower solution of "none", "recompute-all", "capuchin" and "exact". */
typedef ons_status *ons_memory_solve(const ons_stage_problem *problem, ons_memory_workspace *workspace,
                                     ons_arena *arena, ons_stage_solution *solution);

typedef struct ons_memory_strategy {
    const char *name;
    ons_memory_solve *solve;
    const char *summary; /* one line for --help and reports */
    bool by_evaluation;  /* goes by ons_memory_evaluate: what a part of a micro-batch needs while it runs is there,
                            whatever is decided */
    bool by_tensor;      /* swaps and recomputes any tensor, so that what other strategies decide is of its kind too */
} ons_memory_strategy;

/* "none", "recompute-all", "capuchin", "exact" (enumerates: small stages only); of baselines, by whole layers,
 * "recompute-stage", "recompute-layers" and "vpipe-layers". NULL where there is none. */
const ons_memory_strategy *ons_memory_strategy_find(const char *name);
extern const ons_memory_strategy *const ons_memory_strategies[]; /* ends with NULL */

/* Evaluates what given decisions cost and need, by walking the parts of one period of the stage in order. All
 * strategies are compared by it; its model stands in evaluate.c. `memory` differs from ons_work_stage_memory's in stash
 * and peak alone and, without decisions, is never more. Decisions that make no sense (a tensor that is not the stage's,
 * or is decided twice; back too late; swapped without a link) are ONS_INVALID_ARGUMENT; ONS_KEEP says nothing. */
ons_status *ons_memory_evaluate(const ons_stage_problem *problem, const ons_tensor_decision *decisions, uint32_t count,
                                ons_memory_workspace *workspace, ons_stage_solution *solution);

#endif
