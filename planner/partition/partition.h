/* Splitting a workload into stages. */
#ifndef ONSTAGE_PLANNER_PARTITION_H
#define ONSTAGE_PLANNER_PARTITION_H

#include "planner/memory/memory.h"
#include "planner/schedule/schedule.h"

/* What a plan is to be fast in. */
typedef enum ons_objective {
    ONS_OBJECTIVE_BY_SCHEDULE, /* the step where the schedule is synchronous, else the bottleneck */
    ONS_OBJECTIVE_BOTTLENECK,  /* the slowest stage or transfer: what counts where micro-batches never end */
} ons_objective;

/* Everything that a plan is searched for. */
typedef struct ons_planning_problem {
    const ons_workload *work;
    ons_pipeline pipeline;
    const ons_schedule *schedule; /* of the pipeline; NULL: made where it is needed */
    int64_t batch; /* samples of all micro-batches, where some have fewer than `work`; 0: they do not. Each is charged
                      as one of the largest */
    int64_t capacity_bytes; /* of every device, after what its libraries take; 0: no limit */
    double link_bandwidth;  /* bytes a second between neighbouring stages, each way; 0: transfers cost nothing */
    double link_latency;
    int64_t link_eager_bytes; /* messages of up to so many bytes leave without asking (planner/partition/link.h); 0: not
                                 said */
    double host_bandwidth;    /* between device and host, for swapping; 0: none */
    double host_latency;
    double host_share; /* of a copy's time, what computing loses: see ons_stage_problem */
    const ons_memory_strategy *memory;
    ons_objective objective; /* of the planner's choice with "auto" (planner.h); strategies go by the bottleneck */
} ons_planning_problem;

typedef struct ons_partition {
    uint32_t stages;
    uint32_t *first; /* stages + 1 positions: stage i holds [first[i], first[i + 1]) */
    bool feasible;
    double bottleneck_seconds; /* the slowest stage's time for one micro-batch, or the slowest transfer */
    int64_t least_bytes;       /* where not feasible: the smallest capacity found to do */
    uint64_t stages_judged;    /* how often a stage was evaluated */
    uint32_t candidate_cuts;   /* most candidates at one level of the search; 0: not such a search */
} ons_partition;

/* Asks for the time and memory of stages; remembers what it was asked. */
typedef struct ons_judge ons_judge;
/* `problem->memory` NULL: stages must fit as they are. Fails where there are more stages than nodes. */
ons_status *ons_judge_new(const ons_planning_problem *problem, ons_judge **judge);
void ons_judge_free(ons_judge *judge); /* NULL is fine */
/* With a schedule. */
const ons_planning_problem *ons_judge_problem(const ons_judge *judge);
/* What takes as long as `seconds` is not wanted, as something as fast is known already: a strategy may say that nothing
 * is feasible where it finds nothing faster. Infinite where it is not said. */
void ons_judge_set_rival(ons_judge *judge, double seconds);
double ons_judge_rival(const ons_judge *judge);
/* Asks about devices of another size from here on. What was learnt of stages that do not fit stays. */
void ons_judge_set_capacity(ons_judge *judge, int64_t capacity_bytes);

typedef struct ons_verdict {
    bool feasible;
    bool optimised; /* it fits only with swap or recompute */
    double seconds; /* for one micro-batch, with what swap and recompute add; infinite where not feasible */
    int64_t total_bytes;
    int64_t least_bytes; /* the smallest capacity known to do; where it is plain that the stage does not fit, what it
                            takes as it is */
} ons_verdict;
/* Stage number `stage` (from 0) of the pipeline as [first, end). Amortised without allocation; the fits-as-it-is case
 * costs what ons_work_stage_memory does, and no stage is optimised twice. */
ons_status *ons_judge_stage(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, ons_verdict *verdict);
/* The same; where the stage does not fit, least_bytes is what the memory strategy says. */
ons_status *ons_judge_stage_exactly(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage,
                                    ons_verdict *verdict);
/* The same; a stage that takes longer than `limit` seconds may come back as one that does not fit. */
ons_status *ons_judge_stage_below(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, double limit,
                                  ons_verdict *verdict);
/* What the memory strategy decides in a stage that was found to fit; in the judge's memory. */
ons_status *ons_judge_solution(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage,
                               ons_stage_solution *solution);
/* Whether it fits in no more than `limit` (finite) seconds: then `seconds` is a time that it can be done in, not
 * always the least; infinite otherwise. Quicker than a verdict. */
ons_status *ons_judge_within(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, double limit,
                             double *seconds);
/* Whether it fits, from what was learnt with other capacities where that is enough. */
ons_status *ons_judge_fits(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, bool *fits);
/* A lower bound of the bytes with which it can fit, whatever is decided: what stays, and the node that needs most while
 * it runs; what arrives ahead of its use is left aside, so that a longer stage never needs less. Quick. */
ons_status *ons_judge_need(ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, int64_t *bytes);
/* Bytes that it takes as it is. Quick. */
int64_t ons_judge_bytes(const ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage);
/* Seconds to send a micro-batch over the cut, the slower of both directions. 0 at the ends. */
double ons_judge_transfer(const ons_judge *judge, uint32_t cut);
uint64_t ons_judge_count(const ons_judge *judge);
/* Nodes of all stages that went to the memory strategy: what a search's time mostly depends on. */
uint64_t ons_judge_optimised_nodes(const ons_judge *judge);

/* `first` is filled in (stages + 1 entries, allocated by the caller's arena). Where nothing is feasible, feasible is
 * false and least_bytes says what would do; the status is for defects and short memory alone. */
typedef ons_status *ons_partition_search(ons_judge *judge, ons_arena *arena, ons_partition *partition);

typedef struct ons_partition_strategy {
    const char *name;
    ons_partition_search *search;
    const char *summary;
} ons_partition_strategy;

/* NULL where there is none. A strategy is a line in strategies.inc. */
const ons_partition_strategy *ons_partition_strategy_find(const char *name);
extern const ons_partition_strategy *const ons_partition_strategies[]; /* ends with NULL */
/* Whether it may be given the nodes in another order than the file's. */
bool ons_partition_takes_any_order(const ons_partition_strategy *strategy);

/* Fills in feasibility, bottleneck and least capacity of given cuts. */
ons_status *ons_partition_judge(ons_judge *judge, ons_partition *partition);

#endif
