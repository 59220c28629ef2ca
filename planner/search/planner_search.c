/* The search over orders of the nodes, and, where the step decides, over what was found in them. */
#include <math.h>
#include <string.h>

#include "planner/partition/baselines.h"
#include "planner/partition/devices.h"
#include "planner/partition/step_estimate.h"
#include "planner/search/least_step.h"
#include "planner/search/planner.h"
#include "planner/search/planner_search.h"
#include "planner/search/step_search.h"
#include "planner/simulate/pipeline_simulation.h"
#include "planner/workload/order.h"

/* The packed order is searched for up to here: inception_v3, with 326 nodes in wide blocks, takes 0.1 s. Larger graphs
 * are mostly chains of small nodes, which other orders fill stages with as well. */
enum { PACKED_MOST_NODES = 600 };

/* Graphs up to here are searched in every order as if it were the only one: AmoebaNet, with 1,045 nodes in wide cells,
 * trains up to a fifth faster by it. */
enum { CAREFUL_MOST_NODES = 1100 };

enum {
    ORDERS = ONS_ORDER_COUNT + 1,
    REFINED = 8,    /* splits whose cuts are moved, the best by estimate; half as many of a large graph */
    SIMULATED = 16, /* splits that are simulated: the refined ones, the one with the fastest slowest stage, and the
                       next best; half as many of a large graph */
};

/* Moving cuts by what the simulator says ends after so many tasks simulated, in all, or nodes of stages optimised. */
enum { MOST_TASKS = 30000, SIMULATION_OVERHEAD = 100, POLISH_NODES = 2000 };
/* Splits are compared until so many tasks were simulated: of many stages without end a simulation takes long. */
enum { MOST_TASKS_COMPARED = 400000 };

static const double EQUAL = 1e-9; /* steps that differ by less, relatively, are as fast */
/* Splits whose estimate is this much above what was simulated of the fastest are not looked at. */
static const double HOPELESS = 1.02;

/* An order of the nodes, with what was found in it. */
typedef struct ordered {
    ons_planned planned;
    ons_stage_costs *costs; /* owned */
    ons_step_splits splits;
    uint32_t taken; /* of the splits */
} ordered;

typedef struct simulated {
    ons_planned planned;
    const ordered *order;
    double step_seconds;
} simulated;

typedef struct planner_search {
    const ons_partition_strategy *strategy;
    ons_arena *arena;
    uint32_t stages;
    bool by_step;
    ordered orders[ORDERS];
    uint32_t count;
    double last_estimate; /* of the split that next_split took last */
    ons_step_walk walk;
} planner_search;

static bool is_large(const planner_search *s) {
    return s->orders[0].planned.problem.work->node_count > CAREFUL_MOST_NODES;
}

/* ----------------------------------------------------------------------------------------------------------- stages */

/* With the decisions that the search knows the cost of; the costs of stages own them. */
static ons_status *take_solutions(ons_planned *planned, ons_stage_costs *costs, ons_arena *arena) {
    const uint32_t *first = planned->partition.first;
    ONS_NEW(planned->solutions, arena, planned->partition.stages);
    for (uint32_t i = 0; i < planned->partition.stages; ++i)
        ONS_TRY(ons_stage_costs_solution(costs, first[i], first[i + 1], i, &planned->solutions[i]));
    return NULL;
}

ons_status *ons_planned_copy_decisions(ons_planned *planned, ons_arena *arena) {
    for (uint32_t i = 0; planned->solutions != NULL && i < planned->partition.stages; ++i) {
        ons_stage_solution *solution = &planned->solutions[i];
        const ons_tensor_decision *from = solution->decisions;
        if (from == NULL) continue;
        ONS_NEW(solution->decisions, arena, solution->decision_count);
        if (solution->decision_count > 0) memcpy(solution->decisions, from, solution->decision_count * sizeof *from);
    }
    return NULL;
}

ons_status *ons_planned_evaluate(ons_planned *planned, ons_arena *arena) {
    ons_stage_costs *costs;
    ONS_TRY(ons_stage_costs_new(&planned->problem, &costs));
    ons_status *status = ons_partition_evaluate(costs, &planned->partition);
    if (status == NULL && planned->partition.feasible) status = take_solutions(planned, costs, arena);
    if (status == NULL) status = ons_planned_copy_decisions(planned, arena);
    ons_stage_costs_free(costs);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- bottleneck */

/* What all stages send for a micro-batch. */
static int64_t sent_bytes(const ons_planned *planned) {
    int64_t sum = 0;
    for (uint32_t i = 1; i < planned->partition.stages; ++i)
        sum += ons_work_cut_bytes(planned->problem.work, planned->partition.first[i]);
    return sum;
}

/* Where links cost something, times within a thousandth of each other count as equal: then what sends less is better.
 */
static bool is_better(const ons_planned *a, const ons_planned *b) {
    if (a->partition.feasible != b->partition.feasible) return a->partition.feasible;
    if (!a->partition.feasible) return a->partition.least_bytes < b->partition.least_bytes;
    double left = a->partition.bottleneck_seconds, right = b->partition.bottleneck_seconds;
    if (a->problem.link_bandwidth <= 0 && left != right) return left < right;
    if (left < 0.999 * right || right < 0.999 * left) return left < right;
    return sent_bytes(a) < sent_bytes(b);
}

/* ------------------------------------------------------------------------------------------------------------- step */

/* Splits that were simulated, from all orders. */
typedef struct choice {
    simulated items[SIMULATED];
    uint32_t count;
    uint64_t tasks; /* of all simulations: what they cost */
} choice;

/* A simulation costs its tasks and something for itself, which counts where there are few. */
static ons_status *simulate(simulated *x, uint64_t *tasks) {
    ons_pipeline_forecast forecast;
    ons_pipeline_setup setup = {.problem = &x->planned.problem,
                                .first = x->planned.partition.first,
                                .solutions = x->planned.solutions,
                                .times_alone = true};
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_pipeline_simulate(&setup, scratch, &forecast);
    if (status == NULL) {
        x->step_seconds = forecast.iteration_seconds;
        *tasks += ons_simulation_task_count(forecast.simulation) + SIMULATION_OVERHEAD;
        ons_simulation_free(forecast.simulation);
    }
    ons_arena_free(scratch);
    return status;
}

static bool is_faster(const simulated *a, const simulated *b) {
    if (fabs(a->step_seconds - b->step_seconds) > EQUAL * b->step_seconds) return a->step_seconds < b->step_seconds;
    return a->planned.partition.bottleneck_seconds < b->planned.partition.bottleneck_seconds;
}

static const simulated *fastest(const choice *c) {
    const simulated *best = c->count > 0 ? &c->items[0] : NULL;
    for (uint32_t i = 1; i < c->count; ++i)
        if (is_faster(&c->items[i], best)) best = &c->items[i];
    return best;
}

/* Stages of other orders are often the same but for nodes that might as well stand the other way round. */
static bool is_alike(const simulated *a, const simulated *b) {
    const ons_planned *x = &a->planned, *y = &b->planned;
    for (uint32_t i = 0; i < x->partition.stages; ++i) {
        const ons_stage_solution *s = &x->solutions[i], *t = &y->solutions[i];
        uint32_t from = x->partition.first[i], to = x->partition.first[i + 1];
        uint32_t begin = y->partition.first[i], end = y->partition.first[i + 1];
        const ons_workload *w = x->problem.work, *v = y->problem.work;
        bool same = to - from == end - begin && s->seconds == t->seconds && s->memory.total == t->memory.total &&
                    s->decision_count == t->decision_count &&
                    fabs(ons_work_forward_seconds(w, from, to) - ons_work_forward_seconds(v, begin, end)) <=
                        EQUAL * s->seconds &&
                    ons_work_cut_bytes(w, from) == ons_work_cut_bytes(v, begin);
        if (!same) return false;
    }
    return true;
}

/* Whether it is plain without a simulation that the split is not faster than what was found. */
static ons_status *is_no_faster(const planner_search *s, const choice *c, const simulated *x, bool *no_faster) {
    const simulated *best = fastest(c);
    simulated ideal = *x;
    *no_faster = false;
    for (uint32_t i = 0; i < c->count && !*no_faster; ++i) *no_faster = is_alike(x, &c->items[i]);
    if (best == NULL || *no_faster) return NULL;
    ONS_TRY(ons_least_step(&x->planned.problem, &s->walk, x->planned.partition.first, x->planned.solutions,
                           &ideal.step_seconds));
    ideal.step_seconds *= 1 - EQUAL;
    *no_faster = !is_faster(&ideal, best);
    return NULL;
}

/* Infinite seconds where a stage does not fit, or where it is plain that another split found is as fast. */
static ons_status *try_split(const planner_search *s, const ordered *o, uint32_t *first, choice *c, simulated *x) {
    bool no_faster;
    *x = (simulated){.planned = o->planned, .order = o, .step_seconds = INFINITY};
    x->planned.by_step = true;
    x->planned.partition.first = first;
    ONS_TRY(ons_partition_evaluate(o->costs, &x->planned.partition));
    if (!x->planned.partition.feasible) return NULL;
    ONS_TRY(take_solutions(&x->planned, o->costs, s->arena));
    ONS_TRY(is_no_faster(s, c, x, &no_faster));
    return no_faster ? NULL : simulate(x, &c->tasks);
}

static ons_status *add_choice(const planner_search *s, const ordered *o, uint32_t *first, choice *c) {
    uint32_t stages = o->planned.partition.stages;
    for (uint32_t i = 0; i < c->count; ++i)
        if (c->items[i].order == o &&
            memcmp(c->items[i].planned.partition.first, first, (stages + 1) * sizeof *first) == 0)
            return NULL;
    simulated x;
    ONS_TRY(try_split(s, o, first, c, &x));
    if (isfinite(x.step_seconds)) c->items[c->count++] = x;
    return NULL;
}

/* The next best split by estimate, of all orders; NULL: none is left. Each order's come in order. Those of another
 * order that take exactly as long are the same but for nodes that might as well stand the other way round. */
static const ons_step_split *next_split(planner_search *s, const ordered **from) {
    for (;;) {
        ordered *best = NULL;
        for (uint32_t i = 0; i < s->count; ++i) {
            ordered *o = &s->orders[i];
            if (o->taken == o->splits.count) continue;
            if (best == NULL || o->splits.items[o->taken].estimate < best->splits.items[best->taken].estimate) best = o;
        }
        if (best == NULL) return NULL;
        const ons_step_split *split = &best->splits.items[best->taken++];
        bool repeated = *from != NULL && *from != best && split->estimate <= s->last_estimate * (1 + EQUAL);
        if (repeated) continue;
        s->last_estimate = split->estimate;
        *from = best;
        return split;
    }
}

/* Moves single cuts of a split, and ranges of them, by so many nodes. */
static ons_status *polish_by(const planner_search *s, int64_t stride, uint64_t most_nodes, choice *c, simulated *best,
                             bool *improved) {
    uint32_t stages = best->planned.partition.stages;
    *improved = false;
    for (uint32_t length = 1; length < stages; length *= 2)
        for (uint32_t from = 1; from + length <= stages; ++from) {
            const ordered *o = best->order;
            const uint32_t *cuts = best->planned.partition.first;
            int64_t first = (int64_t)cuts[from] + stride, last = (int64_t)cuts[from + length - 1] + stride;
            if (c->tasks > MOST_TASKS || ons_stage_costs_optimised_nodes(o->costs) > most_nodes) return NULL;
            if (first <= cuts[from - 1] || last >= cuts[from + length]) continue;
            uint32_t *trial;
            simulated x;
            ONS_NEW(trial, s->arena, (size_t)stages + 1);
            memcpy(trial, cuts, ((size_t)stages + 1) * sizeof *trial);
            for (uint32_t i = from; i < from + length; ++i) trial[i] = (uint32_t)(trial[i] + stride);
            ONS_TRY(try_split(s, o, trial, c, &x));
            if (!(x.step_seconds < best->step_seconds * (1 - EQUAL))) continue;
            *best = x;
            *improved = true;
        }
    return NULL;
}

static ons_status *polish(const planner_search *s, choice *c, simulated *best) {
    const ordered *o = best->order;
    uint64_t most_nodes = ons_stage_costs_optimised_nodes(o->costs) + POLISH_NODES;
    int64_t stride = 1;
    while (stride * 8 * s->stages < o->planned.problem.work->node_count) stride *= 2;
    for (; stride > 0; stride /= 2)
        for (bool improved = true; improved;) {
            bool back;
            ONS_TRY(polish_by(s, stride, most_nodes, c, best, &improved));
            ONS_TRY(polish_by(s, -stride, most_nodes, c, best, &back));
            improved |= back;
        }
    return NULL;
}

/* What the estimate does not see, the simulator does: values that skip stages, copies, room at the receiver. The best
 * split first: what is left of the budget is for others, from which a faster one may be near. */
static ons_status *polish_all(const planner_search *s, choice *c) {
    ONS_TRY(polish(s, c, &c->items[0]));
    for (uint32_t i = 1; i < c->count; ++i) {
        ONS_TRY(polish(s, c, &c->items[i]));
        if (is_faster(&c->items[i], &c->items[0])) c->items[0] = c->items[i];
    }
    return NULL;
}

/* Its own decisions in a baseline's split: capuchin's make every stage as fast, but not always the step. */
static ons_status *try_memory(const planner_search *s, const ordered *o, uint32_t *first,
                              const ons_memory_strategy *memory, choice *c) {
    ordered own = *o;
    simulated x;
    own.planned.problem.memory = memory;
    ONS_TRY(ons_stage_costs_new(&own.planned.problem, &own.costs));
    ons_status *status = try_split(s, &own, first, c, &x);
    if (status == NULL && isfinite(x.step_seconds) && is_faster(&x, &c->items[0])) {
        x.order = o;
        x.planned.problem.memory = o->planned.problem.memory;
        status = ons_planned_copy_decisions(&x.planned, s->arena);
        if (status == NULL) c->items[0] = x;
    }
    ons_stage_costs_free(own.costs);
    return status;
}

static ons_status *try_baseline(const planner_search *s, uint32_t *first, choice *c) {
    static const char *const memories[] = {"vpipe-layers", "recompute-layers", "recompute-stage"};
    const ordered *o = &s->orders[0];
    simulated x;
    ONS_TRY(try_split(s, o, first, c, &x));
    if (isfinite(x.step_seconds) && is_faster(&x, &c->items[0])) c->items[0] = x;
    bool optimised = false;
    for (uint32_t i = 0; i < s->stages && x.planned.solutions != NULL; ++i)
        optimised |= x.planned.solutions[i].decision_count > 0;
    bool any_kind = optimised && o->planned.problem.memory->by_tensor; /* optimised: there is a strategy */
    for (size_t i = 0; any_kind && i < sizeof memories / sizeof *memories; ++i)
        ONS_TRY(try_memory(s, o, first, ons_memory_strategy_find(memories[i]), c));
    return NULL;
}

/* What a baseline finds is not to be faster. Few need to be simulated. */
static ons_status *try_baselines(const planner_search *s, choice *c) {
    const ordered *o = &s->orders[0];
    const ons_planning_problem *p = &o->planned.problem;
    ons_baseline_splits splits;
    double even = ons_work_seconds(p->work, 0, p->work->node_count) / s->stages * p->pipeline.micro_batches;
    if (c->items[0].step_seconds <= even * (1 + EQUAL)) return NULL;
    ONS_TRY(ons_baselines_split(o->costs, s->arena, &splits));
    for (uint32_t i = 0; i < splits.count; ++i) {
        double least;
        ONS_TRY(ons_least_step(p, &s->walk, splits.first[i], NULL, &least));
        if (least < c->items[0].step_seconds) ONS_TRY(try_baseline(s, splits.first[i], c));
    }
    return NULL;
}

/* The step that the simulator finds fastest. */
static ons_status *choose_step(planner_search *s, const ordered *slowest_stage, ons_planned *planned) {
    choice c = {0};
    const ordered *o = NULL;
    uint32_t share = is_large(s) ? 2 : 1, refine = REFINED / share, most = SIMULATED / share;
    ONS_TRY(add_choice(s, slowest_stage, slowest_stage->planned.partition.first, &c));
    for (uint32_t i = 0; c.count < most && c.tasks < MOST_TASKS_COMPARED; ++i) {
        ons_step_split refined;
        const ons_step_split *split = next_split(s, &o);
        if (split == NULL || split->estimate > HOPELESS * c.items[0].step_seconds) break;
        if (i < refine) {
            ONS_TRY(ons_step_refine(o->costs, split, s->arena, &refined));
            ONS_TRY(add_choice(s, o, refined.first, &c));
        }
        if (c.count < most) ONS_TRY(add_choice(s, o, split->first, &c));
    }
    ons_best_bottleneck best_bottleneck = {c.items[0].planned.partition.bottleneck_seconds, c.items[0].step_seconds};
    for (uint32_t i = 1; i < c.count; ++i)
        if (is_faster(&c.items[i], &c.items[0])) {
            simulated swap = c.items[0];
            c.items[0] = c.items[i];
            c.items[i] = swap;
        }
    ONS_TRY(try_baselines(s, &c));
    ONS_TRY(polish_all(s, &c));
    *planned = c.items[0].planned;
    planned->best_bottleneck = best_bottleneck;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- orders */

/* Large graphs are mostly chains of small nodes, of which another order makes little; it must be faster by this. Of
 * others, splits that are not faster may send less. */
static const double GAIN = 1e-3;

static double incumbent_seconds(const planner_search *s) {
    double seconds = INFINITY;
    if (!is_large(s)) return INFINITY;
    for (uint32_t i = 0; i + 1 < s->count; ++i) {
        const ons_partition *p = &s->orders[i].planned.partition;
        if (p->feasible) seconds = fmin(seconds, p->bottleneck_seconds);
    }
    return seconds * (1 - GAIN);
}

static ons_status *search_one(planner_search *s, ordered *o) {
    ons_planned *planned = &o->planned;
    planned->partition = (ons_partition){.stages = planned->problem.pipeline.stages};
    ONS_NEW(planned->partition.first, s->arena, (size_t)planned->partition.stages + 1);
    ONS_TRY(ons_stage_costs_new(&planned->problem, &o->costs));
    ons_stage_costs_set_incumbent(o->costs, incumbent_seconds(s));
    ONS_TRY(s->strategy->search(o->costs, s->arena, &planned->partition));
    bool feasible = planned->partition.feasible;
    if (!s->by_step || (!feasible && isinf(ons_stage_costs_incumbent(o->costs)))) return NULL;
    return ons_step_gather(o->costs, feasible ? &planned->partition : NULL, s->arena, &o->splits);
}

static bool is_known_order(const planner_search *s, const uint32_t *order, uint32_t nodes) {
    for (uint32_t i = 0; i < s->count; ++i) {
        const uint32_t *known = s->orders[i].planned.node_at;
        bool same = true;
        for (uint32_t k = 0; k < nodes && same; ++k) same = order[k] == (known != NULL ? known[k] : k);
        if (same) return true;
    }
    return false;
}

static ons_status *search_reordered(planner_search *s, const ons_planning_problem *problem, ons_order_kind kind) {
    uint32_t *order;
    ONS_TRY(ons_work_order(problem->work, kind, problem->pipeline.stages, s->arena, &order));
    if (is_known_order(s, order, problem->work->node_count)) return NULL;
    ordered *o = &s->orders[s->count++];
    o->planned = (ons_planned){.order = ons_order_name(kind), .node_at = order};
    ONS_TRY(ons_devices_reorder(problem, order, s->arena, &o->planned.problem));
    return search_one(s, o);
}

static ons_status *search_orders(planner_search *s, const ons_planning_problem *problem, bool any_order) {
    s->orders[s->count++].planned = (ons_planned){.order = "file", .problem = *problem};
    ONS_TRY(search_one(s, &s->orders[0]));
    if (problem->pipeline.stages == 1) return NULL;
    int kinds = problem->work->node_count <= PACKED_MOST_NODES ? ONS_ORDER_COUNT : ONS_ORDER_PACKED;
    for (int kind = 0; any_order && kind < kinds; ++kind) ONS_TRY(search_reordered(s, problem, (ons_order_kind)kind));
    return NULL;
}

static ons_status *choose(planner_search *s, ons_planned *planned) {
    const ordered *best = &s->orders[0];
    for (uint32_t i = 1; i < s->count; ++i)
        if (is_better(&s->orders[i].planned, &best->planned)) best = &s->orders[i];
    *planned = best->planned;
    if (!planned->partition.feasible) return NULL;
    return s->by_step ? choose_step(s, best, planned) : take_solutions(planned, best->costs, s->arena);
}

ons_status *ons_planner_search_stages(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                      bool any_order, ons_arena *arena, ons_planned *planned) {
    planner_search s = {.strategy = strategy, .arena = arena, .stages = problem->pipeline.stages};
    s.by_step = strategy == ons_partition_strategy_find("auto") && problem->objective == ONS_OBJECTIVE_BY_SCHEDULE &&
                problem->pipeline.stages > 1;
    ons_status *status = NULL;
    if (s.by_step) status = ons_step_walk_make(&problem->pipeline, problem->schedule, arena, &s.walk);
    if (status == NULL) status = search_orders(&s, problem, any_order);
    if (status == NULL) status = choose(&s, planned);
    if (status == NULL) status = ons_planned_copy_decisions(planned, arena);
    for (uint32_t i = 0; i < s.count; ++i) ons_stage_costs_free(s.orders[i].costs);
    return status;
}
