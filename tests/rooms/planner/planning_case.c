#include "tests/rooms/planner/planning_case.h"
#include "tests/rooms/planner/loads.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------------------- memory */

typedef struct demand {
    int64_t fixed, micro_batch; /* bytes: what always stays; M, all that one micro-batch needs */
    double seconds;
} demand;

static demand demand_of(const ons_stage_problem *p) {
    ons_stage_memory m, one;
    ons_stage_load single = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_work_stage_memory(p->work, p->first, p->end, &p->load, &m);
    ons_work_stage_memory(p->work, p->first, p->end, &single, &one);
    return (demand){m.weights + m.gradients + m.states + m.versions, one.total - one.transfers,
                    ons_work_seconds(p->work, p->first, p->end)};
}

static void answer(const ons_stage_problem *p, const demand *d, double added, bool feasible, ons_stage_solution *s) {
    *s = (ons_stage_solution){.feasible = feasible, .seconds = d->seconds + added, .recompute_seconds = added};
    ons_work_stage_memory(p->work, p->first, p->end, &p->load, &s->memory);
    s->least_bytes = d->fixed < p->capacity_bytes ? p->capacity_bytes + 1 : d->fixed;
    if (!feasible) return;
    s->memory.stash = s->memory.peak = s->memory.transfers = 0; /* all that can go, and it is within the capacity */
    s->memory.total = d->fixed;
}

double even_overhead(int64_t over) {
    if (over <= 0) return 0;
    double x = (double)over / 65536;
    return 4e-4 * (x + 0.2 * x * x);
}

static ons_status *solve_even(const ons_stage_problem *p, ons_memory_workspace *workspace, ons_arena *arena,
                              ons_stage_solution *solution) {
    demand d = demand_of(p);
    int64_t over = p->load.in_flight * d.micro_batch - p->capacity_bytes;
    answer(p, &d, even_overhead(over), d.fixed <= p->capacity_bytes, solution);
    return NULL;
}

static ons_status *solve_split(const ons_stage_problem *p, ons_memory_workspace *workspace, ons_arena *arena,
                               ons_stage_solution *solution) {
    demand d = demand_of(p);
    int64_t over = (p->load.in_flight * d.micro_batch - p->capacity_bytes) / p->load.in_flight;
    answer(p, &d, even_overhead(over), d.fixed <= p->capacity_bytes, solution);
    return NULL;
}

double uneven_factor(const ons_workload *work, uint32_t first, uint32_t end) {
    uint32_t half = work->node_count / 2, early = first >= half ? 0 : (end < half ? end : half) - first;
    return 1 + 9.0 * early / (end - first);
}

static ons_status *solve_uneven(const ons_stage_problem *p, ons_memory_workspace *workspace, ons_arena *arena,
                                ons_stage_solution *solution) {
    demand d = demand_of(p);
    int64_t over = p->load.in_flight * d.micro_batch - p->capacity_bytes;
    double added = even_overhead(over) * uneven_factor(p->work, p->first, p->end);
    answer(p, &d, added, d.fixed <= p->capacity_bytes, solution);
    return NULL;
}

static ons_status *solve_wild(const ons_stage_problem *p, ons_memory_workspace *workspace, ons_arena *arena,
                              ons_stage_solution *solution) {
    demand d = demand_of(p);
    random_source random = {(uint64_t)p->first << 40 ^ (uint64_t)p->end << 16 ^ p->load.in_flight};
    double added = random_unit(&random) * d.seconds;
    bool feasible = d.fixed <= p->capacity_bytes && !random_chance(&random, 0.2);
    answer(p, &d, added, feasible, solution);
    if (!feasible) ons_work_stage_memory(p->work, p->first, p->end, &p->load, &solution->memory);
    if (!feasible) solution->least_bytes = solution->memory.total; /* what is chance now is so with any capacity */
    return NULL;
}

const ons_memory_strategy even_memory = {"even", solve_even, "test: by the bytes over the capacity", false, false};
const ons_memory_strategy split_memory = {"split", solve_split, "test: the same, for each micro-batch", false, false};
const ons_memory_strategy uneven_memory = {"uneven", solve_uneven, "test: more in the first half", false, false};
const ons_memory_strategy wild_memory = {"wild", solve_wild, "test: by chance", false, false};

/* --------------------------------------------------------------------------------------------------------- problems */

static ons_status *make_work(const planning_case *o, random_source *random, ons_arena *arena, ons_workload *work) {
    uint32_t nodes = o->least_nodes + random_below(random, o->most_nodes - o->least_nodes + 1);
    bool heavy = random_chance(random, 0.5);
    random_work_options w = {.seed = random_next(random), .nodes = nodes};
    w.heavy_tailed = o->sizes == SIZES_BY_CHANCE ? heavy : o->sizes == SIZES_HEAVY_TAILED;
    if (!o->chains && random_chance(random, 0.5)) w = random_work_graph(w.seed, nodes);
    return random_work_make(&w, arena, work);
}

/* Largest need of a stage where the nodes are divided evenly in number. */
static void find_needs(const ons_planning_problem *p, int64_t *fixed, int64_t *total) {
    uint32_t stages = p->pipeline.stages, nodes = p->work->node_count;
    *fixed = *total = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        ons_stage_load load = load_of_stage(&p->pipeline, i);
        ons_stage_memory m;
        ons_work_stage_memory(p->work, (uint32_t)((uint64_t)nodes * i / stages),
                              (uint32_t)((uint64_t)nodes * (i + 1) / stages), &load, &m);
        int64_t stays = m.weights + m.gradients + m.states + m.versions;
        if (stays > *fixed) *fixed = stays;
        if (m.total > *total) *total = m.total;
    }
}

ons_status *planning_case_make(const planning_case *o, ons_arena *arena, ons_planning_problem *p) {
    random_source random = {o->seed};
    ons_workload *work;
    ONS_NEW(work, arena, 1);
    ONS_TRY(make_work(o, &random, arena, work));
    uint32_t least = o->least_stages < 2 ? 2 : o->least_stages;
    uint32_t stages = least + random_below(&random, o->most_stages - least + 1);
    *p = (ons_planning_problem){.work = work,
                                .pipeline = {.generator = ons_generators[random_below(&random, 3)],
                                             .stages = stages < work->node_count ? stages : work->node_count,
                                             .micro_batches = 1 + random_below(&random, 2 * stages)},
                                .host_bandwidth = 1e8,
                                .host_latency = 1e-5,
                                .memory = o->memory};
    if (!o->free_links && random_chance(&random, 0.5)) {
        p->link_bandwidth = random_between(&random, 1e7, 1e9, true);
        p->link_latency = 1e-5;
        if (o->seed % 3 == 0) p->link_eager_bytes = (int64_t)1 << o->seed % 24;
    }
    int64_t fixed, total;
    find_needs(p, &fixed, &total);
    p->capacity_bytes = fixed + (int64_t)((double)(total - fixed) * (0.2 + random_unit(&random)));
    return NULL;
}
