/* Memory-balanced: the fullest device is as empty as it can be (DawnPiper, appendix A, "Mem-ba", and algorithm 2 with
 * the target found by bisection, since peaks do not add up). Every stage in turn takes units until its memory, with as
 * many micro-batches as its place in the pipeline has in flight, would go beyond the target. Times are not looked at.
 */
#include "planner/partition/granularity.h"

static int64_t stage_bytes(ons_stage_costs *costs, const ons_granularity *granularity, uint32_t first, uint32_t end,
                           uint32_t stage) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    ons_stage_memory memory;
    ons_work_stage_memory(p->work, granularity->cuts[first], granularity->cuts[end], &p->schedule->loads[stage],
                          &memory);
    return memory.total;
}

/* The fullest stage's bytes when stages are filled up to `target`. */
static int64_t fill(ons_stage_costs *costs, const ons_granularity *granularity, int64_t target, uint32_t *units) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages;
    int64_t fullest = 0;
    units[0] = 0;
    for (uint32_t stage = 0; stage < stages; ++stage) {
        uint32_t first = units[stage], last = granularity->count - (stages - stage - 1);
        uint32_t end = stage + 1 == stages ? last : first + 1;
        int64_t bytes = stage_bytes(costs, granularity, first, end, stage);
        while (end < last) {
            int64_t more = stage_bytes(costs, granularity, first, end + 1, stage);
            if (more > target) break;
            bytes = more;
            ++end;
        }
        units[stage + 1] = end;
        fullest = bytes > fullest ? bytes : fullest;
    }
    return fullest;
}

static ons_status *search_memory(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                 uint32_t *units) {
    uint32_t *trial, stages = ons_stage_costs_problem(costs)->pipeline.stages;
    ONS_NEW(trial, arena, (size_t)stages + 1);
    /* `high` is reached by the units found so far; nothing reaches `low`. */
    int64_t low = 0, high = fill(costs, granularity, INT64_MAX, units);
    while (high - low > high / 4096 + 1) {
        int64_t target = low + (high - low) / 2, reached = fill(costs, granularity, target, trial);
        if (reached > target) {
            low = target;
            continue;
        }
        high = reached;
        memcpy(units, trial, ((size_t)stages + 1) * sizeof *units);
    }
    return NULL;
}

ONS_GRANULARITY_STRATEGIES(memory_balanced, "memory-balanced", search_memory,
                           "the fullest device as empty as it can be");
