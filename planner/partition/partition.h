/* A partition splits a workload into stages. */
#ifndef ONSTAGE_PLANNER_PARTITION_PARTITION_H
#define ONSTAGE_PLANNER_PARTITION_PARTITION_H

#include "planner/memory/memory.h"
#include "planner/schedule/schedule.h"

/* The objective says what a plan is to be fast in. */
typedef enum ons_objective {
    ONS_OBJECTIVE_BY_SCHEDULE, /* the step where the schedule is synchronous, else the bottleneck */
    ONS_OBJECTIVE_BOTTLENECK,  /* the slowest stage or transfer: what counts where micro-batches never end */
} ons_objective;

/* A device among others of another speed or size; see devices.h. */
typedef struct ons_planning_device {
    const ons_workload *work; /* the problem's nodes and bytes, in this device's times */
    int64_t less_bytes;       /* of capacity than the largest device has */
} ons_planning_device;

/* What stages may choose by themselves (GraphPipe, section 3), where a strategy lets them: "graphpipe". */
typedef struct ons_stage_choice {
    bool sizes;                       /* of micro-batches: see ons_stage_grouping */
    bool replicas;                    /* of a stage: copies */
    const ons_workload *const *works; /* [i]: the problem's `work` with 2^i times its samples */
    uint32_t work_count;
    const bool *joint; /* [node of `work`]: its stage takes all micro-batches of a step at once, in one copy (a barrier:
                          see engine/plan/stage_choice.h); NULL: no stage has to */
} ons_stage_choice;

/* Vocabularies whose tables and heads were split into parts of the graph, one a shard: nodes like all others, but for
 * the device that they are to lie on (planner/search/shard_stages.h). */
#define ONS_NO_SHARD UINT32_MAX
typedef struct ons_node_shards {
    uint32_t count;
    const uint32_t *of;    /* [node of the problem's `work` as it was posed, whatever order is searched in]: its shard;
                              ONS_NO_SHARD: none */
    const uint32_t *shown; /* [node]: of one that only shows another's result in another shape, that other, in front of
                              it; itself for all others. What flows back to it is added up in its stage, which no
                              tensor tells, so that both lie in one. NULL: there is none */
} ons_node_shards;

/* A planning problem holds everything that a plan is searched for. */
typedef struct ons_planning_problem {
    const ons_workload *work;
    /* Where devices differ, each of them; NULL: all are alike. `work` has then the least times of all of them, and
     * `capacity_bytes` is the largest. */
    const ons_planning_device *devices; /* [device] */
    uint32_t device_count;
    ons_pipeline pipeline;
    const ons_schedule *schedule; /* of the pipeline; NULL: made where it is needed */
    bool follows_lists; /* the pipeline's generator has lists that are asked for: strategies that make lists with the
                           stages find stages for these instead */
    /* Where the schedule's stages have micro-batches of their own (ons_stage_grouping), the same nodes, tensors and
     * weights with as many of `work`'s samples as a copy of the stage takes at once; NULL: they have not. */
    const ons_workload *const *stage_works; /* [stage] */
    const ons_stage_choice *choice; /* NULL: every stage takes one of the pipeline's micro-batches at a time, in one
                                       copy */
    const ons_node_shards *shards;  /* NULL: nothing is sharded */
    int64_t batch; /* samples of all micro-batches, where some have fewer than `work`; 0: they do not. Each is charged
                      as one of the largest */
    int64_t capacity_bytes; /* of every device, after what its libraries take; 0: no limit */
    double link_bandwidth;  /* bytes a second between neighbouring stages, each way; 0: transfers cost nothing */
    double link_latency;
    bool divides_updates;     /* among replicas: runtime/program/update_shard.h */
    bool reads_norms;         /* of gradients, so that sums are whole in every replica all the same */
    int64_t link_eager_bytes; /* messages of up to so many bytes leave without asking (planner/partition/link.h); 0: not
                                 said */
    /* Where devices lie in several nodes, the link between those of different nodes; see link.h */
    int64_t node_devices; /* in a node; 0: all are in one, and the rest does not count */
    double network_bandwidth, network_latency;
    int64_t network_eager_bytes;
    double host_bandwidth; /* between device and host, for swapping; 0: none */
    double host_latency;
    double host_share; /* of a copy's time, what computing loses: see ons_stage_problem */
    uint32_t sliced;   /* micro-batches whose forward parts the plan has in halves (planner/search/slices.h): 0: none */
    const ons_memory_strategy *memory;
    ons_objective objective; /* of the planner's choice with "auto" (planner.h); strategies go by the bottleneck */
} ons_planning_problem;

typedef struct ons_partition {
    uint32_t stages;
    uint32_t *first; /* stages + 1 positions: stage i holds [first[i], first[i + 1]) */
    bool feasible;
    double bottleneck_seconds; /* the slowest stage's time for one micro-batch, or the slowest transfer; of a unit of
                                  the step, where stages have micro-batches of their own */
    int64_t least_bytes;       /* where not feasible: the smallest capacity found to do */
    uint64_t stages_evaluated; /* how often a stage was evaluated */
    uint32_t candidate_cuts;   /* most candidates at one level of the search; 0: not such a search */
} ons_partition;

/* The costs of stages: evaluates the time and memory of intervals of nodes, and remembers each result. */
typedef struct ons_stage_costs ons_stage_costs;
/* Where `problem->memory` is NULL, stages must fit without swap and recompute. Fails where there are more stages than
 * nodes. */
ons_status *ons_stage_costs_new(const ons_planning_problem *problem, ons_stage_costs **costs);
void ons_stage_costs_free(ons_stage_costs *costs); /* NULL is fine */
/* The problem that the costs are of; its schedule is set. */
const ons_planning_problem *ons_stage_costs_problem(const ons_stage_costs *costs);
/* The incumbent is the best solution known so far: a strategy may say that nothing is feasible where it finds nothing
 * faster than `seconds`. Without an incumbent they are infinite. */
void ons_stage_costs_set_incumbent(ons_stage_costs *costs, double seconds);
double ons_stage_costs_incumbent(const ons_stage_costs *costs);
/* Evaluates stages for devices of another capacity from here on. What is known of stages that do not fit stays. */
void ons_stage_costs_set_capacity(ons_stage_costs *costs, int64_t capacity_bytes);

typedef struct ons_stage_evaluation {
    bool feasible;
    bool optimised; /* the stage fits only with swap or recompute */
    double seconds; /* for one micro-batch, with what swap and recompute add; infinite where not feasible */
    int64_t total_bytes;
    int64_t least_bytes; /* the smallest capacity known to do; where it is plain that the stage does not fit, what it
                            takes as it is */
} ons_stage_evaluation;
/* Evaluates stage number `stage` (from 0) of the pipeline as nodes [first, end). Amortised, it allocates nothing; where
 * the stage fits as it is, this costs what ons_work_stage_memory does, and no stage is optimised twice. */
ons_status *ons_stage_costs_evaluate(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                     ons_stage_evaluation *evaluation);
/* Evaluates a stage; where the stage does not fit, least_bytes is what the memory strategy says. */
ons_status *ons_stage_costs_evaluate_exactly(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                             ons_stage_evaluation *evaluation);
/* Evaluates a stage; one that takes longer than `limit` seconds may come back as one that does not fit. */
ons_status *ons_stage_costs_evaluate_below(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                           double limit, ons_stage_evaluation *evaluation);
/* Gives what the memory strategy decides in a stage that was found to fit. The costs own the solution. */
ons_status *ons_stage_costs_solution(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                     ons_stage_solution *solution);
/* Tests whether a stage fits in no more than `limit` (finite) seconds: then `seconds` is a time that it can be done in,
 * not always the least; infinite otherwise. It is quicker than an evaluation. */
ons_status *ons_stage_costs_within(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, double limit,
                                   double *seconds);
/* Tests whether a stage fits, from results for other capacities where these are enough. */
ons_status *ons_stage_costs_fits(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, bool *fits);
/* Gives a lower bound of the bytes with which a stage can fit, whatever is decided: what stays, and the node that needs
 * most while it runs. What arrives ahead of its use is left aside, so that a longer stage never needs less. It is
 * quick. */
ons_status *ons_stage_costs_bytes_lower_bound(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                              int64_t *bytes);
/* Gives the bytes that a stage takes without swap and recompute. It is quick. */
int64_t ons_stage_costs_bytes(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage);
/* Gives the seconds of the stage's computing alone, on its device. */
double ons_stage_costs_computing(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage);
/* Gives the seconds to send a micro-batch over the cut, the slower of both directions, between devices of one node; 0
 * at both ends of the model. Strategies go by it, as they move cuts before they know which devices lie at them. */
double ons_stage_costs_transfer(const ons_stage_costs *costs, uint32_t cut);
uint64_t ons_stage_costs_count(const ons_stage_costs *costs);
/* Counts the nodes of all stages that went to the memory strategy: the time of a search mostly depends on them. */
uint64_t ons_stage_costs_optimised_nodes(const ons_stage_costs *costs);

/* `first` is filled in (stages + 1 entries, allocated by the caller's arena). Where nothing is feasible, feasible is
 * false and least_bytes says what would do; the status is for defects and short memory alone. */
typedef ons_status *ons_partition_search(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition);

typedef struct ons_partition_strategy {
    const char *name;
    ons_partition_search
        *search; /* NULL: the schedule is made together with the cuts, by planner/search/planner.h alone */
    const char *summary;
} ons_partition_strategy;

/* NULL where there is none. A strategy is a line in strategies.inc. */
const ons_partition_strategy *ons_partition_strategy_find(const char *name);
extern const ons_partition_strategy *const ons_partition_strategies[]; /* ends with NULL */
/* Tests whether the strategy may be given the nodes in another order than the file's. */
bool ons_partition_takes_any_order(const ons_partition_strategy *strategy);

/* Evaluates all stages of given cuts: fills in feasibility, bottleneck and least capacity. */
ons_status *ons_partition_evaluate(ons_stage_costs *costs, ons_partition *partition);

#endif
