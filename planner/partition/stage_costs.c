#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/partition/devices.h"
#include "planner/partition/link.h"
#include "planner/partition/partition.h"
#include "planner/workload/workload_index.h"

/* A memo of what the memory strategy answered. Stages that fit as they are cost less to work out again than to look up.
 */
typedef struct memo_entry {
    uint32_t first, end; /* end 0: free */
    uint32_t load;       /* its class: see ons_stage_costs.load_class */
    /* Whatever the capacity is: it does not fit with less, and fits with as much. 0 and INT64_MAX where not known. */
    int64_t least_bytes, enough_bytes;
    uint32_t asked; /* the number of the capacity that the rest is about; 0: none */
    bool solved;    /* without a limit: the next three hold */
    bool feasible;
    double seconds;
    int64_t total_bytes;
    double longer_than, at_most;        /* what is known of the seconds; 0 and infinite: nothing */
    const ons_stage_solution *solution; /* where `solved` and `feasible` */
} memo_entry;

struct ons_stage_costs {
    ons_planning_problem problem;
    uint32_t *load_class; /* the first stage with the same load: they share what is remembered */
    ons_memory_workspace *workspace;
    memo_entry *memo; /* open addressing; a power of two, at most half full */
    uint32_t memo_size, memo_used;
    uint64_t count, optimised_nodes;
    uint32_t asked;   /* number of the capacity */
    double incumbent; /* seconds; infinite: none */
    ons_arena *arena; /* of `running` */
    ons_arena *solutions;
    ons_range_maximum running; /* of each node, for the lower bound of bytes; rows NULL until it is asked for */
};

enum { FIRST_MEMO_SIZE = 1 << 10 };

static bool same_load(const ons_stage_load *a, const ons_stage_load *b) {
    return a->in_flight == b->in_flight && a->versions == b->versions && a->accumulates == b->accumulates &&
           a->forward_first == b->forward_first && a->apart == b->apart && a->before_input == b->before_input &&
           a->between == b->between;
}

/* Stages with the same load, on devices that are alike. */
static bool is_alike(const ons_planning_problem *p, uint32_t a, uint32_t b) {
    return same_load(&p->schedule->loads[a], &p->schedule->loads[b]) && ons_stage_work(p, a) == ons_stage_work(p, b) &&
           ons_stage_capacity(p, a) == ons_stage_capacity(p, b);
}

/* Stages of one class share what is remembered: with the same load and on the same kind of device, the same nodes cost
 * the same. A class is named by its first stage. */
static ons_status *prepare(ons_stage_costs *costs) {
    ons_planning_problem *p = &costs->problem;
    uint32_t stages = p->pipeline.stages;
    ons_schedule *made;
    costs->solutions = ons_arena_new();
    costs->load_class = calloc(stages, sizeof *costs->load_class);
    costs->memo = calloc(FIRST_MEMO_SIZE, sizeof *costs->memo);
    costs->memo_size = FIRST_MEMO_SIZE;
    if (costs->solutions == NULL || costs->load_class == NULL || costs->memo == NULL) return ons_status_out_of_memory();
    if (p->schedule == NULL) {
        ONS_NEW(made, costs->solutions, 1);
        ONS_TRY(ons_schedule_make(&p->pipeline, costs->solutions, made));
        p->schedule = made;
    }
    for (uint32_t i = 0; i < stages; ++i)
        while (!is_alike(p, i, costs->load_class[i])) ++costs->load_class[i];
    return p->memory == NULL ? NULL : ons_memory_workspace_new(p->work, &costs->workspace);
}

ons_status *ons_stage_costs_new(const ons_planning_problem *problem, ons_stage_costs **costs) {
    *costs = NULL;
    ONS_CHECK(problem->pipeline.stages > 0 && problem->pipeline.micro_batches > 0, ONS_INVALID_ARGUMENT,
              "a pipeline needs at least one stage and one micro-batch");
    ONS_CHECK(problem->pipeline.stages <= problem->work->node_count, ONS_INVALID_ARGUMENT,
              "%u stages are more than the model's %u nodes; take fewer", problem->pipeline.stages,
              problem->work->node_count);
    ons_stage_costs *made = calloc(1, sizeof *made);
    if (made == NULL) return ons_status_out_of_memory();
    made->problem = *problem;
    made->asked = 1;
    made->incumbent = INFINITY;
    ons_status *status = prepare(made);
    if (status != NULL) {
        ons_stage_costs_free(made);
        return status;
    }
    *costs = made;
    return NULL;
}

void ons_stage_costs_free(ons_stage_costs *costs) {
    if (costs == NULL) return;
    ons_memory_workspace_free(costs->workspace);
    ons_arena_free(costs->arena);
    ons_arena_free(costs->solutions);
    free(costs->load_class);
    free(costs->memo);
    free(costs);
}

const ons_planning_problem *ons_stage_costs_problem(const ons_stage_costs *costs) { return &costs->problem; }
uint64_t ons_stage_costs_count(const ons_stage_costs *costs) { return costs->count; }
uint64_t ons_stage_costs_optimised_nodes(const ons_stage_costs *costs) { return costs->optimised_nodes; }

void ons_stage_costs_set_incumbent(ons_stage_costs *costs, double seconds) { costs->incumbent = seconds; }
double ons_stage_costs_incumbent(const ons_stage_costs *costs) { return costs->incumbent; }

void ons_stage_costs_set_capacity(ons_stage_costs *costs, int64_t capacity_bytes) {
    if (costs->problem.capacity_bytes == capacity_bytes) return;
    costs->problem.capacity_bytes = capacity_bytes;
    ++costs->asked;
}

/* ---------------------------------------------------------------------------------------------------- what is known */

static uint32_t hash(uint32_t first, uint32_t end, uint32_t load) {
    uint64_t h = ((uint64_t)first << 32 | end) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ load) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

/* The entry of this stage, or the free one where it belongs. */
static memo_entry *find_entry(memo_entry *memo, uint32_t size, uint32_t first, uint32_t end, uint32_t load) {
    uint32_t at = hash(first, end, load) & (size - 1);
    while (memo[at].end != 0 && (memo[at].first != first || memo[at].end != end || memo[at].load != load))
        at = (at + 1) & (size - 1);
    return &memo[at];
}

static ons_status *grow_memo(ons_stage_costs *costs) {
    ONS_CHECK(costs->memo_size <= UINT32_MAX / 4, ONS_OUT_OF_MEMORY, "more stages were looked at than can be kept");
    uint32_t size = costs->memo_size * 2;
    memo_entry *memo = calloc(size, sizeof *memo);
    if (memo == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < costs->memo_size; ++i) {
        const memo_entry *e = &costs->memo[i];
        if (e->end != 0) *find_entry(memo, size, e->first, e->end, e->load) = *e;
    }
    free(costs->memo);
    costs->memo = memo;
    costs->memo_size = size;
    return NULL;
}

/* The entry of a stage, made where there is none. */
static ons_status *find_or_add_entry(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                     memo_entry **entry) {
    uint32_t load = costs->load_class[stage];
    *entry = find_entry(costs->memo, costs->memo_size, first, end, load);
    if ((*entry)->end != 0) return NULL;
    if (costs->memo_used >= costs->memo_size / 2) {
        ONS_TRY(grow_memo(costs));
        *entry = find_entry(costs->memo, costs->memo_size, first, end, load);
    }
    **entry = (memo_entry){.first = first, .end = end, .load = load, .enough_bytes = INT64_MAX};
    ++costs->memo_used;
    return NULL;
}

/* What was learnt with another capacity is forgotten. */
static void forget_other_capacities(const ons_stage_costs *costs, memo_entry *e) {
    if (e->asked == costs->asked) return;
    e->asked = costs->asked;
    e->solved = false;
    e->longer_than = 0;
    e->at_most = INFINITY;
}

/* `any`: whether it fits, in no more than `limit` seconds (0: in any time), is all that is asked. */
static ons_status *optimise(ons_stage_costs *costs, memo_entry *entry, bool any, double limit) {
    const ons_planning_problem *p = &costs->problem;
    int64_t capacity = ons_stage_capacity(p, entry->load);
    ons_stage_problem problem = {.work = ons_stage_work(p, entry->load),
                                 .first = entry->first,
                                 .end = entry->end,
                                 .load = costs->problem.schedule->loads[entry->load],
                                 .capacity_bytes = capacity,
                                 .host_bandwidth = p->host_bandwidth,
                                 .host_latency = p->host_latency,
                                 .host_share = p->host_share,
                                 .any_solution = any,
                                 .limit_seconds = limit};
    ons_stage_solution solution = {0}, *kept;
    costs->optimised_nodes += entry->end - entry->first;
    ONS_TRY(p->memory->solve(&problem, costs->workspace, any ? NULL : costs->solutions, &solution));
    if (solution.feasible && capacity < entry->enough_bytes) entry->enough_bytes = capacity;
    bool within = solution.feasible && (limit == 0 || solution.seconds <= limit);
    if (!within && limit > 0) {
        entry->longer_than = fmax(entry->longer_than, limit);
        return NULL;
    }
    if (!solution.feasible) entry->least_bytes = solution.least_bytes;
    entry->at_most = solution.feasible ? fmin(entry->at_most, solution.seconds) : INFINITY;
    entry->solved = !any || !solution.feasible;
    entry->feasible = solution.feasible;
    entry->seconds = solution.feasible ? solution.seconds : INFINITY;
    entry->total_bytes = solution.memory.total;
    if (any || !solution.feasible) return NULL;
    ONS_NEW(kept, costs->solutions, 1);
    *kept = solution;
    entry->solution = kept;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- need */

/* What a node needs while it runs, beside what stays: its forward part what it reads and makes, its backward part what
 * it reads and the gradients on both sides. */
static int64_t running_bytes(const ons_workload *work, uint32_t node) {
    ons_work_list reads = ons_work_reads(work, node), makes = ons_work_produces(work, node);
    ons_work_list saves = ons_work_saves(work, node);
    int64_t forward = work->nodes[node].forward_bytes, backward = work->nodes[node].backward_bytes;
    for (uint32_t i = 0; i < reads.count + makes.count; ++i) {
        const ons_work_tensor *t = &work->tensors[i < reads.count ? reads.items[i] : makes.items[i - reads.count]];
        forward += t->bytes;
        backward += t->gradient_bytes;
    }
    for (uint32_t i = 0; i < saves.count; ++i) backward += work->tensors[saves.items[i]].bytes;
    return forward > backward ? forward : backward;
}

static ons_status *find_running(ons_stage_costs *costs) {
    const ons_workload *work = costs->problem.work;
    int64_t *bytes;
    costs->arena = ons_arena_new();
    if (costs->arena == NULL) return ons_status_out_of_memory();
    ONS_NEW(bytes, costs->arena, work->node_count);
    for (uint32_t i = 0; i < work->node_count; ++i) bytes[i] = running_bytes(work, i);
    return ons_range_maximum_make(&costs->running, bytes, work->node_count, costs->arena);
}

static int64_t bytes_lower_bound(const ons_stage_costs *costs, uint32_t first, uint32_t end,
                                 const ons_stage_memory *m) {
    int64_t held = m->weights + m->gradients + m->states + m->versions;
    if (costs->problem.memory == NULL || !costs->problem.memory->by_evaluation) return held;
    return held + ons_range_maximum_find(&costs->running, first, end);
}

ons_status *ons_stage_costs_bytes_lower_bound(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                              int64_t *bytes) {
    ons_stage_memory memory;
    if (costs->running.rows == NULL) ONS_TRY(find_running(costs));
    ons_work_stage_memory(ons_stage_work(&costs->problem, stage), first, end, &costs->problem.schedule->loads[stage],
                          &memory);
    *bytes = bytes_lower_bound(costs, first, end, &memory);
    return NULL;
}

/* No decision makes it fit. */
static ons_status *is_hopeless(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                               const ons_stage_memory *m, bool *hopeless) {
    const ons_planning_problem *p = &costs->problem;
    if (costs->running.rows == NULL) ONS_TRY(find_running(costs));
    *hopeless = bytes_lower_bound(costs, first, end, m) + (p->memory->by_evaluation ? m->transfers : 0) >
                ons_stage_capacity(p, stage);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ evaluations */

double ons_stage_costs_computing(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage) {
    return ons_work_seconds(ons_stage_work(&costs->problem, stage), first, end);
}

int64_t ons_stage_costs_bytes(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage) {
    ons_stage_memory memory;
    ons_work_stage_memory(ons_stage_work(&costs->problem, stage), first, end, &costs->problem.schedule->loads[stage],
                          &memory);
    return memory.total;
}

/* `exactly`: where it does not fit, the least that does is wanted. `limit`: see ons_stage_costs_evaluate_below; 0:
 * none. */
static ons_status *evaluate_stage(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, bool exactly,
                                  double limit, ons_stage_evaluation *evaluation) {
    const ons_planning_problem *p = &costs->problem;
    int64_t capacity = ons_stage_capacity(p, stage);
    ++costs->count;
    *evaluation = (ons_stage_evaluation){.seconds = INFINITY, .least_bytes = INT64_MAX};
    if (first >= end) return NULL; /* no stage is empty, whatever its capacity */
    ons_stage_memory memory;
    ons_work_stage_memory(ons_stage_work(p, stage), first, end, &costs->problem.schedule->loads[stage], &memory);
    if (capacity == 0 || memory.total <= capacity) {
        *evaluation = (ons_stage_evaluation){true, false, ons_stage_costs_computing(costs, first, end, stage),
                                             memory.total, memory.total};
        return NULL;
    }
    evaluation->total_bytes = evaluation->least_bytes = memory.total;
    if (p->memory == NULL) return NULL;
    bool hopeless = false;
    if (!exactly) ONS_TRY(is_hopeless(costs, first, end, stage, &memory, &hopeless));
    if (hopeless) return NULL;
    memo_entry *entry;
    ONS_TRY(find_or_add_entry(costs, first, end, stage, &entry));
    forget_other_capacities(costs, entry);
    bool refused = capacity < entry->least_bytes;
    if (!refused && !entry->solved && limit > 0 && entry->longer_than >= limit) return NULL;
    if (!refused && !entry->solved) ONS_TRY(optimise(costs, entry, false, limit));
    if (!refused && !entry->solved) return NULL;
    refused = refused || !entry->feasible;
    *evaluation = (ons_stage_evaluation){.feasible = !refused,
                                         .optimised = !refused,
                                         .seconds = refused ? INFINITY : entry->seconds,
                                         .total_bytes = entry->total_bytes,
                                         .least_bytes = refused ? entry->least_bytes : entry->total_bytes};
    return NULL;
}

ons_status *ons_stage_costs_evaluate(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                     ons_stage_evaluation *evaluation) {
    return evaluate_stage(costs, first, end, stage, false, 0, evaluation);
}

ons_status *ons_stage_costs_evaluate_below(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                           double limit, ons_stage_evaluation *evaluation) {
    if (isinf(limit)) return evaluate_stage(costs, first, end, stage, false, 0, evaluation);
    *evaluation = (ons_stage_evaluation){.seconds = INFINITY, .least_bytes = INT64_MAX};
    if (first >= end || ons_stage_costs_computing(costs, first, end, stage) > limit) return NULL;
    return evaluate_stage(costs, first, end, stage, false, limit, evaluation);
}

ons_status *ons_stage_costs_evaluate_exactly(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                             ons_stage_evaluation *evaluation) {
    return evaluate_stage(costs, first, end, stage, true, 0, evaluation);
}

/* Asks ever dearer questions, and stops at the first answer: what the nodes take as they are, what nothing can save,
 * what is remembered, the strategy. */
ons_status *ons_stage_costs_fits(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, bool *fits) {
    const ons_planning_problem *p = &costs->problem;
    int64_t capacity = ons_stage_capacity(p, stage);
    ons_stage_memory memory;
    memo_entry *entry;
    ++costs->count;
    *fits = first < end;
    if (first >= end) return NULL;
    ons_work_stage_memory(ons_stage_work(p, stage), first, end, &costs->problem.schedule->loads[stage], &memory);
    if (capacity == 0 || memory.total <= capacity) return NULL;
    *fits = false;
    if (p->memory == NULL) return NULL;
    bool hopeless;
    ONS_TRY(is_hopeless(costs, first, end, stage, &memory, &hopeless));
    if (hopeless) return NULL;
    ONS_TRY(find_or_add_entry(costs, first, end, stage, &entry));
    forget_other_capacities(costs, entry);
    bool known = capacity < entry->least_bytes || capacity >= entry->enough_bytes;
    if (!known && !entry->solved) ONS_TRY(optimise(costs, entry, true, 0));
    *fits = capacity >= entry->enough_bytes;
    return NULL;
}

ons_status *ons_stage_costs_solution(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage,
                                     ons_stage_solution *solution) {
    const ons_planning_problem *p = &costs->problem;
    int64_t capacity = ons_stage_capacity(p, stage);
    ons_stage_memory memory;
    memo_entry *entry;
    ons_work_stage_memory(ons_stage_work(p, stage), first, end, &costs->problem.schedule->loads[stage], &memory);
    if (capacity == 0 || memory.total <= capacity) {
        *solution = (ons_stage_solution){
            .feasible = true, .seconds = ons_stage_costs_computing(costs, first, end, stage), .memory = memory};
        return NULL;
    }
    ONS_CHECK(p->memory != NULL, ONS_DEFECT, "stage %u does not fit after all", stage);
    ONS_TRY(find_or_add_entry(costs, first, end, stage, &entry));
    forget_other_capacities(costs, entry);
    if (!entry->solved) ONS_TRY(optimise(costs, entry, false, 0));
    ONS_CHECK(entry->feasible && entry->solution != NULL, ONS_DEFECT, "stage %u does not fit after all", stage);
    *solution = *entry->solution;
    return NULL;
}

/* This is quicker than an evaluation: the strategy may stop at the first decisions that keep the limit. What it learns,
 * that a stage takes longer than one limit or no longer than another, answers many later questions without it. */
ons_status *ons_stage_costs_within(ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, double limit,
                                   double *seconds) {
    const ons_planning_problem *p = &costs->problem;
    int64_t capacity = ons_stage_capacity(p, stage);
    ons_stage_memory memory;
    memo_entry *entry;
    ++costs->count;
    *seconds = INFINITY;
    double least = first < end ? ons_stage_costs_computing(costs, first, end, stage) : INFINITY;
    if (!(least <= limit)) return NULL;
    ons_work_stage_memory(ons_stage_work(p, stage), first, end, &costs->problem.schedule->loads[stage], &memory);
    if (capacity == 0 || memory.total <= capacity) {
        *seconds = least;
        return NULL;
    }
    if (p->memory == NULL) return NULL;
    bool hopeless;
    ONS_TRY(is_hopeless(costs, first, end, stage, &memory, &hopeless));
    if (hopeless) return NULL;
    ONS_TRY(find_or_add_entry(costs, first, end, stage, &entry));
    forget_other_capacities(costs, entry);
    bool known =
        capacity < entry->least_bytes || entry->solved || entry->at_most <= limit || entry->longer_than >= limit;
    if (!known) ONS_TRY(optimise(costs, entry, true, limit));
    if (capacity >= entry->least_bytes && entry->at_most <= limit) *seconds = entry->at_most;
    return NULL;
}

static double transfer(const ons_planning_problem *p, ons_link_cost link, uint32_t cut) {
    if (cut == 0 || cut >= p->work->node_count) return 0;
    int64_t forward = ons_work_cut_bytes(p->work, cut), backward = ons_work_cut_gradient_bytes(p->work, cut);
    return ons_link_seconds(link, forward > backward ? forward : backward);
}

double ons_stage_costs_transfer(const ons_stage_costs *costs, uint32_t cut) {
    return transfer(&costs->problem, ons_link_in_node(&costs->problem), cut);
}

/* `least_bytes` is the capacity of the most demanding device, so that a refusal can say what would do. A stage that
 * takes several units at once, or shares them with copies, counts with the seconds of one unit. */
ons_status *ons_partition_evaluate(ons_stage_costs *costs, ons_partition *partition) {
    partition->feasible = true;
    partition->bottleneck_seconds = 0;
    partition->least_bytes = 0;
    for (uint32_t i = 0; i < partition->stages; ++i) {
        ons_stage_evaluation v;
        ONS_TRY(ons_stage_costs_evaluate_exactly(costs, partition->first[i], partition->first[i + 1], i, &v));
        const ons_planning_problem *p = &costs->problem;
        double arrival = i == 0 ? 0 : transfer(p, ons_link_before(p, i), partition->first[i]);
        if (!v.feasible) partition->feasible = false;
        int64_t demand = v.least_bytes < INT64_MAX / 2 ? ons_device_demand(p, p->schedule->device_of[i], v.least_bytes)
                                                       : v.least_bytes;
        if (demand > partition->least_bytes) partition->least_bytes = demand;
        ons_stage_grouping g = ons_schedule_grouping(p->schedule, i);
        double each = v.seconds / ((double)g.size * g.copies); /* of a unit */
        partition->bottleneck_seconds = fmax(partition->bottleneck_seconds, fmax(each, arrival));
    }
    partition->stages_evaluated = ons_stage_costs_count(costs);
    return NULL;
}
