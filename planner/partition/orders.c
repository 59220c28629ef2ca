#include "planner/partition/orders.h"

static bool is_better(const ons_partition *a, const ons_partition *b) {
    if (a->feasible != b->feasible) return a->feasible;
    if (!a->feasible) return a->least_bytes < b->least_bytes;
    return a->bottleneck_seconds < b->bottleneck_seconds * (1 - 1e-12);
}

static ons_status *split(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                         ons_order_kind kind, ons_arena *arena, ons_ordered_partition *result) {
    ons_planning_problem ordered = *problem;
    ons_stage_costs *costs;
    uint32_t *order;
    result->order = kind;
    ONS_TRY(ons_work_order(problem->work, kind, problem->pipeline.stages, arena, &order));
    ONS_TRY(ons_work_reorder(problem->work, order, arena, &result->work));
    ordered.work = &result->work;
    ONS_TRY(ons_stage_costs_new(&ordered, &costs));
    ons_status *status = strategy->search(costs, arena, &result->partition);
    ons_stage_costs_free(costs);
    return status;
}

ons_status *ons_partition_best_order(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                     ons_arena *arena, ons_ordered_partition *best) {
    for (ons_order_kind kind = 0; kind < ONS_ORDER_COUNT; ++kind) {
        ons_ordered_partition trial;
        ONS_TRY(split(problem, strategy, kind, arena, &trial));
        if (kind == 0 || is_better(&trial.partition, &best->partition)) *best = trial;
    }
    return NULL;
}
