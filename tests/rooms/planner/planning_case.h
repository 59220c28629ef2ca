/* Random planning problems for tests and benchmarks of partition strategies, and memory strategies whose costs are
 * known in closed form, so that what a search finds can be checked against what it should find. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_PLANNING_CASE_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_PLANNING_CASE_H

#include "planner/partition/partition.h"
#include "tests/rooms/planner/random_work.h"

/* What memory costs where a stage needs more than the capacity. Weights, gradients, states and versions always stay. */
extern const ons_memory_strategy even_memory;  /* by one rising function of k M - capacity: the theorem's condition 3 */
extern const ons_memory_strategy split_memory; /* by one rising function of (k M - capacity) / k */
extern const ons_memory_strategy uneven_memory; /* more where many nodes are in the first half of the model */
extern const ons_memory_strategy wild_memory;   /* neither even nor monotone: any stage may cost, or fail, by chance */

/* The seconds that `even_memory` adds to a stage that is `over` bytes too large. */
double even_overhead(int64_t over);
/* By what `uneven_memory` multiplies that: 1 to 10. */
double uneven_factor(const ons_workload *work, uint32_t first, uint32_t end);

typedef enum planning_sizes { SIZES_BY_CHANCE, SIZES_EVEN, SIZES_HEAVY_TAILED } planning_sizes;

typedef struct planning_case {
    uint64_t seed;
    uint32_t least_nodes, most_nodes;
    uint32_t least_stages, most_stages; /* at least two */
    planning_sizes sizes;               /* of times, tensors and weights */
    bool chains;                        /* plain chains; otherwise graphs too, half of the time */
    bool free_links;                    /* transfers cost nothing; otherwise they do, half of the time */
    const ons_memory_strategy *memory;
} planning_case;

/* Everything in `arena`. Capacities lie between what the largest stage's weights take and what all stages, divided
 * evenly in time, need as they are: most problems need some optimisation, some have no solution. */
ons_status *planning_case_make(const planning_case *options, ons_arena *arena, ons_planning_problem *problem);

#endif
