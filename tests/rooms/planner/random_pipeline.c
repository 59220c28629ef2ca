#include "tests/rooms/planner/random_pipeline.h"
#include "tests/rooms/planner/loads.h"

ons_status *random_pipeline_work(uint64_t seed, bool chain, uint32_t nodes, ons_arena *arena, ons_workload *work) {
    random_work_options options = random_work_graph(seed, nodes);
    if (chain) options = (random_work_options){.seed = seed, .nodes = nodes, .heavy_tailed = seed % 2 == 0};
    return random_work_make(&options, arena, work);
}

void random_pipeline_cut(random_source *random, uint32_t nodes, uint32_t stages, uint32_t *first) {
    first[0] = 0;
    for (uint32_t i = 1; i < stages; ++i) /* every stage after this one must get a node */
        first[i] = first[i - 1] + 1 + random_below(random, (nodes - first[i - 1]) - (stages - i));
    first[stages] = nodes;
}

static uint32_t last_in(const uint32_t *list, uint32_t count, uint32_t from, uint32_t end) {
    while (count > 0 && list[count - 1] >= end) --count;
    return count > 0 && list[count - 1] >= from ? list[count - 1] : ONS_NO_NODE;
}

/* Some of the tensors that a stage saves are swapped or recomputed, with triggers as a strategy may choose them. */
static ons_status *decide(random_source *random, ons_arena *arena, random_pipeline *r, uint32_t stage) {
    ons_stage_solution *solution = &r->solutions[stage];
    uint32_t from = r->first[stage], end = r->first[stage + 1];
    solution->decisions = ons_arena_allocate(arena, r->work.tensor_count, sizeof *solution->decisions);
    if (solution->decisions == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < r->work.tensor_count; ++i) {
        const ons_work_tensor *t = &r->work.tensors[i];
        uint32_t saver = last_in(t->savers, t->saver_count, from, end);
        if (saver == ONS_NO_NODE || random_chance(random, 0.5)) continue;
        bool made = t->producer >= from && t->producer < end;
        uint32_t born = made ? t->producer : from;
        bool again = made && r->work.nodes[t->producer].recomputable && random_chance(random, 0.4);
        solution->decisions[solution->decision_count++] =
            (ons_tensor_decision){i, again ? ONS_RECOMPUTE : ONS_SWAP, born + random_below(random, end - born),
                                  saver + random_below(random, end - saver), ONS_NO_NODE};
    }
    return NULL;
}

ons_stage_problem random_pipeline_stage(const ons_planning_problem *p, const uint32_t *first, uint32_t stage) {
    return (ons_stage_problem){.work = p->work,
                               .first = first[stage],
                               .end = first[stage + 1],
                               .load = load_of_stage(&p->pipeline, stage),
                               .host_bandwidth = p->host_bandwidth,
                               .host_latency = p->host_latency};
}

/* Decides for each stage, and notes what that takes. */
static ons_status *decide_all(random_source *random, ons_memory_workspace *workspace, ons_arena *arena,
                              random_pipeline *r) {
    for (uint32_t i = 0; i < r->problem.pipeline.stages; ++i) {
        ons_stage_problem stage = random_pipeline_stage(&r->problem, r->first, i);
        ons_stage_solution evaluated, *solution = &r->solutions[i];
        ONS_TRY(decide(random, arena, r, i));
        ONS_TRY(ons_memory_evaluate(&stage, solution->decisions, solution->decision_count, workspace, &evaluated));
        evaluated.decisions = solution->decisions;
        evaluated.decision_count = solution->decision_count;
        *solution = evaluated;
        r->again[i] = evaluated.recompute_seconds;
    }
    return NULL;
}

ons_status *random_pipeline_decide(random_source *random, ons_arena *arena, random_pipeline *r) {
    ons_memory_workspace *workspace;
    ONS_TRY(ons_memory_workspace_new(&r->work, &workspace));
    ons_status *status = decide_all(random, workspace, arena, r);
    ons_memory_workspace_free(workspace);
    return status;
}

ons_status *random_pipeline_make(uint64_t seed, ons_arena *arena, random_pipeline *r) {
    random_source random = {seed};
    *r = (random_pipeline){.seed = seed, .chain = seed % 2 == 0, .decided = seed % 4 >= 2};
    uint32_t stages = 1 + random_below(&random, RANDOM_PIPELINE_STAGES);
    ONS_TRY(random_pipeline_work(seed, r->chain, stages + random_below(&random, 40), arena, &r->work));
    random_pipeline_cut(&random, r->work.node_count, stages, r->first);
    ons_pipeline pipeline = {ons_generators[random_below(&random, 3)], stages, 1 + random_below(&random, 12), 0, 1};
    r->problem = (ons_planning_problem){.work = &r->work, .pipeline = pipeline};
    if (random_chance(&random, 0.7)) {
        r->problem.link_bandwidth = random_between(&random, 1e7, 1e10, true);
        r->problem.link_latency = random_between(&random, 1e-6, 1e-4, false);
    }
    r->problem.host_bandwidth = random_between(&random, 1e7, 1e10, true);
    r->problem.host_latency = random_chance(&random, 0.5) ? 1e-5 : 0;
    if (seed % 3 == 0) r->problem.link_eager_bytes = (int64_t)1 << random_below(&random, 24);
    return r->decided ? random_pipeline_decide(&random, arena, r) : NULL;
}
