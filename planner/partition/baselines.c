#include "planner/partition/baselines.h"

#include <string.h>

/* vPipe evaluates hundreds of stages by nodes, or with a strategy that is not by layers. */
enum { SMALL_GRAPH = 256 };

static const char *const quick[] = {"uniform",
                                    "gpipe",
                                    "gpipe-nodes",
                                    "pipedream",
                                    "pipedream-nodes",
                                    "compute-balanced",
                                    "compute-balanced-nodes",
                                    "memory-balanced",
                                    "memory-balanced-nodes"};
static const char *const vpipes[] = {"vpipe", "vpipe-nodes"};

static void add(ons_baseline_splits *splits, uint32_t stages, uint32_t *first) {
    for (uint32_t i = 0; i < splits->count; ++i)
        if (memcmp(splits->first[i], first, ((size_t)stages + 1) * sizeof *first) == 0) return;
    splits->first[splits->count++] = first;
}

/* What a baseline refuses (too few layers) is no loss. */
static ons_status *add_split_of(const char *name, ons_stage_costs *costs, ons_arena *arena,
                                ons_baseline_splits *splits) {
    ons_partition found;
    ons_status *status = ons_partition_strategy_find(name)->search(costs, arena, &found);
    if (status != NULL && ons_status_get_code(status) == ONS_INVALID_ARGUMENT) {
        ons_status_free(status);
        return NULL;
    }
    ONS_TRY(status);
    add(splits, found.stages, found.first);
    return NULL;
}

static ons_status *ask_as(ons_planning_problem problem, const char *const *names, size_t count, ons_arena *arena,
                          ons_baseline_splits *splits) {
    ons_stage_costs *costs;
    ons_status *status = NULL;
    ONS_TRY(ons_stage_costs_new(&problem, &costs));
    for (size_t i = 0; i < count && status == NULL; ++i) status = add_split_of(names[i], costs, arena, splits);
    ons_stage_costs_free(costs);
    return status;
}

ons_status *ons_baselines_split(ons_stage_costs *costs, ons_arena *arena, ons_baseline_splits *splits) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    ons_planning_problem unlimited = *p, by_layers = *p;
    size_t granularities = p->work->node_count <= SMALL_GRAPH ? 2 : 1;
    unlimited.capacity_bytes = 0;
    unlimited.memory = NULL;
    by_layers.memory = ons_memory_strategy_find("vpipe-layers");
    *splits = (ons_baseline_splits){0};
    ONS_TRY(ask_as(unlimited, quick, sizeof quick / sizeof *quick, arena, splits));
    if (p->capacity_bytes == 0 || p->memory == NULL) return ask_as(*p, vpipes, granularities, arena, splits);
    if (p->memory->by_tensor) ONS_TRY(ask_as(by_layers, vpipes, granularities, arena, splits));
    return granularities > 1 || !p->memory->by_tensor ? ask_as(*p, vpipes, granularities, arena, splits) : NULL;
}
