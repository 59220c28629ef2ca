#include "planner/search/shard_lists.h"

#include "planner/simulate/pipeline_tasks.h"

/* More in flight hides how long messages take, and that devices do not get to a shard at the same time; first what is
 * mostly enough. */
static const uint32_t EXTRAS[] = {1, 2, 0, 3, 5};
static const ons_type_priority TYPES[] = {ONS_BACKWARD_FIRST, ONS_INTERLEAVED, ONS_FORWARD_FIRST};
enum { EXTRA_COUNT = sizeof EXTRAS / sizeof *EXTRAS, TYPE_COUNT = sizeof TYPES / sizeof *TYPES, STAGE_ORDERS = 4 };

ons_status *ons_shard_ways_list(ons_arena *arena, ons_shard_way **ways, uint32_t *count) {
    ONS_NEW(*ways, arena, (size_t)EXTRA_COUNT * TYPE_COUNT * STAGE_ORDERS * 2);
    *count = 0;
    for (uint32_t type = 0; type < TYPE_COUNT; ++type)
        for (uint32_t lockstep = 0; lockstep < 2; ++lockstep)
            for (uint32_t extra = 0; extra < EXTRA_COUNT; ++extra)
                for (uint32_t stages = STAGE_ORDERS; stages-- > 0;)
                    (*ways)[(*count)++] = (ons_shard_way){.order = {.type = TYPES[type],
                                                                    .forward_depth_first = (stages & 1) != 0,
                                                                    .backward_depth_first = (stages & 2) != 0,
                                                                    .lockstep = lockstep == 1},
                                                          .extra = EXTRAS[extra]};
    return NULL;
}

static ons_status *place_stages(const ons_planning_problem *problem, const ons_shard_order *o, const uint32_t *first,
                                ons_arena *arena, ons_placed_plan *plan) {
    uint32_t *device_of;
    ONS_NEW(device_of, arena, plan->stage_count);
    ONS_NEW(plan->stages, arena, plan->stage_count);
    for (uint32_t i = 0; i < plan->stage_count; ++i) {
        const ons_workload *work = problem->work;
        double weight = ons_work_weight_seconds(work, first[i], first[i + 1]);
        device_of[i] = ons_shard_stage_device(o, i);
        plan->stages[i] = (ons_placed_stage){.devices = &device_of[i],
                                             .copies = 1,
                                             .samples = 1,
                                             .forward = ons_work_forward_seconds(work, first[i], first[i + 1]),
                                             .input = ons_work_backward_seconds(work, first[i], first[i + 1]) - weight,
                                             .weight = weight,
                                             .update = ons_work_update_seconds(work, first[i], first[i + 1])};
    }
    return NULL;
}

ons_status *ons_shard_placed_plan(const ons_planning_problem *problem, const ons_shard_order *o, const uint32_t *first,
                                  ons_arena *arena, ons_placed_plan *plan) {
    uint32_t stages = ons_shard_stage_count(o);
    const ons_split split = {.problem = problem, .first = first, .stages = stages};
    ons_stage_link *pairs;
    *plan = (ons_placed_plan){.batch = problem->pipeline.micro_batches, .devices = o->devices, .stage_count = stages};
    ONS_TRY(place_stages(problem, o, first, arena, plan));
    ONS_TRY(ons_pipeline_links_find(&split, arena, &pairs));
    ONS_NEW(plan->edges, arena, (size_t)stages * stages);
    for (size_t i = 0; i < (size_t)stages * stages; ++i) {
        if (pairs[i].to == 0) continue;
        ons_link_cost link =
            ons_link_between(problem, ons_shard_stage_device(o, pairs[i].from), ons_shard_stage_device(o, pairs[i].to));
        plan->edges[plan->edge_count++] = (ons_placed_edge){
            .from = pairs[i].from,
            .to = pairs[i].to,
            .seconds = ons_link_seconds(link, pairs[i].bytes),
            .gradient_seconds = pairs[i].gradient ? ons_link_seconds(link, pairs[i].gradient_bytes) : 0,
        };
    }
    return NULL;
}

ons_status *ons_shard_schedule(const ons_placed_plan *plan, const ons_shard_way *way, ons_arena *arena,
                               ons_schedule *schedule) {
    ons_placed_order order = way->order;
    uint32_t *limits;
    ONS_TRY(ons_placed_limits(plan, way->extra, arena, &limits));
    order.limits = limits;
    *schedule =
        (ons_schedule){.stages = plan->stage_count, .devices = plan->devices, .micro_batches = (uint32_t)plan->batch};
    ONS_TRY(ons_placed_lists_make(plan, &order, arena, &schedule->lists));
    ONS_TRY(ons_schedule_put_updates_last(schedule, arena));
    return ons_schedule_take(schedule, arena);
}
