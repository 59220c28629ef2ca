/* Random problems for planners of stage graphs. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_BRANCH_PROBLEM_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_BRANCH_PROBLEM_H

#include "planner/stage_graph/graphpipe.h"
#include "tests/rooms/planner/branch_work.h"

enum { BRANCH_PROBLEM_SIZES = 5 }; /* workloads of 1 to 16 samples */

typedef struct branch_problem {
    branch_graph graph;
    ons_planning_problem hardware;
    ons_graph_problem problem; /* points into `hardware` */
} branch_problem;

/* With links half of the time, and a capacity that some divisions exceed. */
ons_status *random_branch_problem(uint64_t seed, uint32_t nodes, uint32_t devices, bool series_parallel,
                                  ons_arena *arena, branch_problem *problem);

#endif
