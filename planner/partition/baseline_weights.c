/* Weight-uniform: cut number x where the bytes of weights so far are nearest to x / stages of all (Pfeife, section 4.2:
 * what DeepSpeed does). Its other baseline, uniform in time, is "compute-balanced-nodes". */
#include "planner/partition/cuts.h"

static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    double *before;
    *partition = (ons_partition){.stages = p->pipeline.stages};
    ONS_NEW(partition->first, arena, (size_t)p->pipeline.stages + 1);
    ONS_TRY(ons_cuts_weights_before(p->work, false, arena, &before));
    ons_cuts_even(before, p->work->node_count, 0, p->pipeline.stages, partition->first);
    return ons_partition_evaluate(costs, partition);
}

const ons_partition_strategy ons_partition_weight_uniform = {"weight-uniform", split,
                                                             "as many bytes of weights in every stage"};
