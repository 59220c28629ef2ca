/* What a split workload does under a schedule: time, bubbles, traffic and memory, by simulating every micro-batch. */
#ifndef ONSTAGE_PLANNER_SIMULATE_PIPELINE_SIMULATION_H
#define ONSTAGE_PLANNER_SIMULATE_PIPELINE_SIMULATION_H

#include "planner/partition/partition.h"
#include "planner/simulate/pipeline_tasks.h"
#include "planner/simulate/simulate.h"

typedef struct ons_pipeline_setup {
    const ons_planning_problem *problem;
    const uint32_t *first;               /* stages + 1 positions, as in ons_partition */
    const ons_stage_solution *solutions; /* of each stage, with its decisions; NULL: all tensors stay */
    const ons_schedule *schedule;    /* any lists; NULL: what the problem's generator says. An asynchronous one is then
                                        simulated for as long as it takes to become steady */
    const ons_pipeline_parts *parts; /* what was made of the split before: `first`, `solutions` and, but for its number
                                        of samples, the workload are not looked at. NULL: made now */
    bool times_alone;                /* memory over time and its peaks are not wanted */
} ons_pipeline_setup;

/* Times and bytes are of one iteration. */
typedef struct ons_device_forecast {
    double busy_seconds; /* computing: forward, backward, recompute, update */
    double bubble_share; /* of the iteration: not computing */
    double send_seconds, receive_seconds, swap_out_seconds, swap_in_seconds;
    int64_t sent_bytes, received_bytes, swapped_out_bytes, swapped_in_bytes;
    int64_t peak_bytes; /* at any time of the simulation */
    ons_memory_point *memory;
    uint32_t memory_count;
} ons_device_forecast;

typedef struct ons_pipeline_forecast {
    double iteration_seconds; /* a step; asynchronous: the steady state's time for as many micro-batches */
    double seconds_per_sample;
    double samples_per_second;
    ons_device_forecast *devices;
    uint32_t device_count;
    ons_task_id *critical_path; /* tasks of `simulation`, each waited for by the next, to the one that ends last */
    uint32_t critical_count;
    ons_simulation *simulation; /* owned: all tasks with their times, for traces; free with ons_simulation_free */
} ons_pipeline_forecast;

/* Makes what plans keep of a split, to be simulated again without the workload; in `arena`. The backward part of each
 * stage is one action. */
ons_status *ons_pipeline_parts_make(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_parts *parts);

/* Simulates the split. Everything but the simulation lives in `arena`; nothing is left to free on failure. Lists that
 * cannot run fail with what ons_schedule_verify says. */
ons_status *ons_pipeline_simulate(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_forecast *forecast);

#endif
