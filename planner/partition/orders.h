/* The best of several linear orders: stages are intervals of an order, and a graph that branches has many. */
#ifndef ONSTAGE_PLANNER_PARTITION_ORDERS_H
#define ONSTAGE_PLANNER_PARTITION_ORDERS_H

#include "planner/partition/partition.h"
#include "planner/workload/order.h"

typedef struct ons_ordered_partition {
    ons_workload work; /* the problem's, in the order that was chosen */
    ons_order_kind order;
    ons_partition partition; /* positions of `work` */
} ons_ordered_partition;

/* Splits problem->work in every order of ons_order_kind. The best is feasible before it is not, then has the fastest
 * slowest stage, or, where nothing fits, asks for the least memory; of equals, the order by depth. Everything in
 * `arena`. Fails as the strategy does. */
ons_status *ons_partition_best_order(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                     ons_arena *arena, ons_ordered_partition *best);

#endif
