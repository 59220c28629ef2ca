#include "planner/search/least_memory.h"

enum { GROW_MOST = 256 };

typedef struct finder {
    ons_planning_problem problem;
    const ons_partition_strategy *strategy;
} finder;

/* `planned`'s least_bytes where it does not fit, otherwise the step's time. */
static ons_status *try_capacity(finder *f, int64_t bytes, bool *fits, int64_t *next, double *step_seconds) {
    ons_planned planned;
    ons_plan plan = {.subject = {.batch = 1}};
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    f->problem.capacity_bytes = bytes;
    ons_status *status = ons_planner_search(&f->problem, f->strategy, arena, &planned);
    *fits = status == NULL && planned.partition.feasible;
    if (status == NULL && !*fits) *next = planned.partition.least_bytes;
    if (*fits) status = ons_planner_fill(&planned, arena, &plan);
    if (*fits) *step_seconds = plan.step_seconds;
    ons_arena_free(arena);
    return status;
}

ons_status *ons_least_memory_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                  const ons_planned *planned, ons_least_memory *least) {
    finder f = {.problem = *problem, .strategy = strategy};
    int64_t high = planned->partition.least_bytes, next = 0;
    bool fits = false;
    if (high <= problem->capacity_bytes) high = problem->capacity_bytes + 1;
    for (int i = 0; !fits; ++i) {
        ONS_CHECK(i < GROW_MOST && high < INT64_MAX / 2, ONS_OUT_OF_MEMORY, "no memory was found that would do");
        ONS_TRY(try_capacity(&f, high, &fits, &next, &least->step_seconds));
        if (fits) break;
        high = next > high ? next : high + high / 64 + 1;
    }
    least->capacity_bytes = high;
    return ons_uncapped_step_find(problem, strategy, &least->uncapped_seconds);
}

ons_status *ons_uncapped_step_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                   double *seconds) {
    finder f = {.problem = *problem, .strategy = strategy};
    bool fits;
    int64_t next;
    return try_capacity(&f, 0, &fits, &next, seconds);
}
