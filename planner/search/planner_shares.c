/* The search where several stages lie on a device: they share its memory, and it knows a cap for each stage. */

#include "base/clock.h"
#include "planner/partition/devices.h"
#include "planner/search/graph_stages.h"
#include "planner/search/planner_search.h"
#include "planner/search/shard_stages.h"

enum { SHARES_TRIED = 4 }; /* between what is sure to fit and what did not */

static ons_status *devices_hold(const ons_planned *planned, int64_t capacity, ons_arena *arena, bool *hold) {
    ons_planning_problem problem = planned->problem;
    int64_t *bytes;
    problem.capacity_bytes = capacity;
    *hold = planned->partition.feasible;
    if (!*hold) return NULL;
    ONS_TRY(ons_planned_sum_devices(planned, arena, &bytes));
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i)
        *hold &= bytes[i] <= ons_device_capacity(&problem, i);
    return NULL;
}

/* The search caps each stage, and a device's stages share its memory. As much as a device has is tried for each stage
 * first: stages that need less than their share leave it to the others. Then the even share, with which every device
 * holds its stages, and then a few in between. */
static ons_status *search_shares(const ons_planning_problem *problem, uint32_t local_stages,
                                 const ons_partition_strategy *strategy, bool any_order, ons_arena *arena,
                                 ons_planned *planned) {
    int64_t capacity = problem->capacity_bytes, high = capacity;
    int64_t low = capacity < local_stages ? 1 : capacity / local_stages; /* 0 would be no limit */
    ons_planning_problem with = *problem;
    bool hold;
    ONS_TRY(ons_planner_search_stages(&with, strategy, any_order, arena, planned));
    ONS_TRY(devices_hold(planned, capacity, arena, &hold));
    if (hold) return NULL;
    bool some = planned->partition.feasible;
    with.capacity_bytes = low;
    if (some)
        ONS_TRY(ons_planner_search_stages(&with, strategy, any_order, arena, planned)); /* else even less does not do */
    for (int i = 0; some && i < SHARES_TRIED && high - low > 1; ++i) {
        ons_planned next;
        with.capacity_bytes = low + (high - low) / 2;
        ONS_TRY(ons_planner_search_stages(&with, strategy, any_order, arena, &next));
        ONS_TRY(devices_hold(&next, capacity, arena, &hold));
        if (hold) *planned = next;
        *(hold || !next.partition.feasible ? &low : &high) = with.capacity_bytes;
    }
    planned->problem.capacity_bytes = capacity;
    if (!planned->partition.feasible &&
        __builtin_mul_overflow(planned->partition.least_bytes, (int64_t)local_stages, &planned->partition.least_bytes))
        planned->partition.least_bytes = INT64_MAX;
    return NULL;
}

static ons_status *search_graph(const ons_planning_problem *problem, bool any_order, ons_arena *arena,
                                ons_planned *planned) {
    ons_graph_stages found;
    ONS_TRY(ons_graph_stages_search(problem, any_order, arena, &found));
    *planned = found.planned;
    return NULL;
}

static ons_status *search_shards(const ons_planning_problem *problem, ons_arena *arena, ons_planned *planned) {
    ons_shard_stages found;
    ONS_TRY(ons_shard_stages_search(problem, arena, &found));
    *planned = found.planned;
    return NULL;
}

static ons_status *search_line(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               bool any_order, ons_arena *arena, ons_planned *planned) {
    ons_planning_problem with = *problem;
    if (with.schedule == NULL) {
        ons_schedule *made;
        ONS_NEW(made, arena, 1);
        ONS_TRY(ons_schedule_make(&with.pipeline, arena, made));
        with.schedule = made;
    }
    uint32_t local_stages = ons_schedule_most_local_stages(with.schedule);
    if (local_stages > 1 && with.capacity_bytes > 0)
        return search_shares(&with, local_stages, strategy, any_order, arena, planned);
    return ons_planner_search_stages(&with, strategy, any_order, arena, planned);
}

/* Whether stages and lists are found together. Lists that are asked for, and cannot run on a line of stages, may be
 * those of a graph; "auto" looks for one where each stage has a device. Other strategies go on: a plan's links decide.
 */
static ons_status *forms_graph(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               ons_arena *arena, bool *graph) {
    ons_schedule schedule;
    *graph = strategy->search == NULL;
    if (*graph || !problem->follows_lists || strategy != ons_partition_strategy_find("auto")) return NULL;
    ONS_TRY(ons_schedule_make(&problem->pipeline, arena, &schedule));
    ons_status *status = ons_schedule_verify(&schedule, NULL, arena);
    if (status == NULL) return NULL;
    if (ons_status_get_code(status) != ONS_INVALID_DATA || schedule.devices != schedule.stages)
        return ons_status_at(status, "%s", problem->pipeline.generator->name);
    ons_status_free(status);
    *graph = true;
    return NULL;
}

/* On one device shards are nodes like all others. */
static bool has_shards(const ons_planning_problem *problem) {
    return problem->shards != NULL && problem->pipeline.stages > 1;
}

static ons_status *search_kind(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               bool any_order, ons_arena *arena, ons_planned *planned) {
    bool graph;
    if (has_shards(problem)) return search_shards(problem, arena, planned);
    ONS_TRY(forms_graph(problem, strategy, arena, &graph));
    if (graph) return search_graph(problem, any_order, arena, planned);
    return search_line(problem, strategy, any_order, arena, planned);
}

static ons_status *search_problem(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                  bool any_order, ons_arena *arena, ons_planned *planned) {
    double start = ons_clock_seconds();
    ONS_TRY(search_kind(problem, strategy, any_order, arena, planned));
    planned->planning_seconds = ons_clock_seconds() - start;
    return NULL;
}

ons_status *ons_planner_search(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               ons_arena *arena, ons_planned *planned) {
    return search_problem(problem, strategy, ons_partition_takes_any_order(strategy), arena, planned);
}

ons_status *ons_planner_search_order(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                     ons_arena *arena, ons_planned *planned) {
    return search_problem(problem, strategy, false, arena, planned);
}
