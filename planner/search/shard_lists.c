#include "planner/search/shard_lists.h"

#include "planner/simulate/pipeline_tasks.h"

enum { MOST_WAYS = 64, ALL = 1 << 20 };

/* By a cycle, from several orders: the period of the slowest device, where micro-batches get through as soon as they
 * can, and a longer one with few in flight. */
static const ons_shard_cycle CYCLES[] = {{0, 0.3, 0}, {0.02, 2, 0}, {0, 0.3, 1}, {0.02, 2, 1},
                                         {0, 0.3, 2}, {0.02, 2, 2}, {0, 0.3, 3}, {0.06, 2, 3}};

/* Greedily. More in flight hides how long messages take, and that devices do not get to a shard at the same time. */
static const uint32_t EXTRAS[] = {1, 0, 2, 3, 5}, LARGE_EXTRAS[] = {8, 16, ALL};
static const ons_type_priority TYPES[] = {ONS_BACKWARD_FIRST, ONS_INTERLEAVED, ONS_FORWARD_FIRST};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void add_greedy(ons_shard_way *ways, uint32_t *count, ons_placed_order order, uint32_t extra) {
    ways[(*count)++] = (ons_shard_way){.order = order, .extra = extra};
}

static void add_cycles(ons_shard_way *ways, uint32_t *count, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) ways[(*count)++] = (ons_shard_way){.cyclic = true, .cycle = CYCLES[i]};
}

/* Adds greedy lists with a few micro-batches more in flight than 1F1B has: for each number all types of preference, and
 * of backward parts those of later stages first, then those of earlier ones. */
static void add_extras(ons_shard_way *ways, uint32_t *count, size_t first, size_t end) {
    for (size_t extra = first; extra < end; ++extra)
        for (size_t type = 0; type < COUNT(TYPES); ++type)
            for (int late = 1; late >= 0; --late)
                add_greedy(ways, count, (ons_placed_order){.type = TYPES[type], .backward_depth_first = late == 1},
                           EXTRAS[extra]);
}

static void add_large_extras(ons_shard_way *ways, uint32_t *count) {
    for (size_t extra = 0; extra < COUNT(LARGE_EXTRAS); ++extra)
        for (int lockstep = 0; lockstep < 2; ++lockstep)
            add_greedy(
                ways, count,
                (ons_placed_order){.type = ONS_INTERLEAVED, .backward_depth_first = true, .lockstep = lockstep == 1},
                LARGE_EXTRAS[extra]);
}

/* Some of each come first: of many stages not all are tried. */
ons_status *ons_shard_ways_list(ons_arena *arena, ons_shard_way **ways, uint32_t *count) {
    ONS_NEW(*ways, arena, MOST_WAYS);
    *count = 0;
    add_cycles(*ways, count, 0, 2);
    add_extras(*ways, count, 0, 2);
    add_cycles(*ways, count, 2, COUNT(CYCLES));
    add_large_extras(*ways, count);
    add_extras(*ways, count, 2, COUNT(EXTRAS));
    return NULL;
}

/* Says what each stage takes for one micro-batch, in seconds. The backward part is told in two, input and weight
 * gradients, as plans of placed stages have it; lists here run both at once. */
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

/* `pairs` is a matrix over stages; where nothing goes from one to the other, `to` is 0, as nothing is sent to the first
 * stage. */
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

static ons_status *make_greedy(const ons_placed_plan *plan, const ons_shard_way *way, ons_arena *arena,
                               ons_action_list **lists) {
    ons_placed_order order = way->order;
    uint32_t *limits;
    ONS_TRY(ons_placed_limits(plan, way->extra, arena, &limits));
    order.limits = limits;
    return ons_placed_lists_make(plan, &order, arena, lists);
}

ons_status *ons_shard_schedule(const ons_placed_plan *plan, const ons_shard_way *way, ons_arena *arena,
                               ons_schedule *schedule, uint64_t *tried) {
    *schedule =
        (ons_schedule){.stages = plan->stage_count, .devices = plan->devices, .micro_batches = (uint32_t)plan->batch};
    ONS_TRY(way->cyclic ? ons_shard_cycle_lists(plan, &way->cycle, arena, &schedule->lists, tried)
                        : make_greedy(plan, way, arena, &schedule->lists));
    ONS_TRY(ons_schedule_put_updates_last(schedule, arena));
    return ons_schedule_take(schedule, arena);
}
