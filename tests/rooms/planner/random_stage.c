#include "tests/rooms/planner/random_stage.h"

static bool within(const uint32_t *list, uint32_t count, uint32_t first, uint32_t end) {
    for (uint32_t i = 0; i < count; ++i) {
        if (list[i] >= first && list[i] < end) return true;
    }
    return false;
}

static uint32_t count_candidates(const ons_stage_problem *p, int64_t *bytes) {
    uint32_t count = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < p->work->tensor_count; ++i) {
        const ons_work_tensor *t = &p->work->tensors[i];
        if (!within(t->savers, t->saver_count, p->first, p->end)) continue;
        bool here = t->producer != ONS_NO_NODE && t->producer >= p->first;
        *bytes += t->bytes;
        count += p->host_bandwidth > 0 || (here && p->work->nodes[t->producer].recomputable);
    }
    return count;
}

/* Within the workload, the widest interval from a random start that has no more candidates than wanted. */
static void choose_interval(random_source *random, uint32_t candidates, ons_stage_problem *p) {
    int64_t bytes;
    p->first = random_below(random, p->work->node_count);
    p->end = p->first + 1;
    while (p->end < p->work->node_count) {
        ++p->end;
        if (count_candidates(p, &bytes) <= candidates) continue;
        --p->end;
        break;
    }
}

static void measure(random_stage *s) {
    ons_stage_problem *p = &s->problem;
    int64_t bytes;
    s->candidates = count_candidates(p, &bytes);
    s->seconds = ons_work_seconds(&s->work, p->first, p->end);
    ons_work_stage_memory(&s->work, p->first, p->end, &p->load, &s->kept);
}

ons_status *random_stage_make(uint64_t seed, uint32_t candidates, ons_arena *arena, random_stage *s) {
    random_source random = {seed ^ 0x5ca1ab1e};
    random_work_options options = random_work_graph(seed, 8 + random_below(&random, 10));
    if (seed % 3 == 0)
        options = (random_work_options){.seed = seed, .nodes = options.nodes, .heavy_tailed = seed % 2 == 0};
    ONS_TRY(random_work_make(&options, arena, &s->work));
    ons_stage_problem *p = &s->problem;
    *p = (ons_stage_problem){.work = &s->work, .load = {1 + random_below(&random, 4), 1, true, false}};
    int64_t bytes;
    p->end = s->work.node_count;
    count_candidates(p, &bytes);
    double seconds = ons_work_seconds(&s->work, 0, s->work.node_count);
    if (random_chance(&random, 0.7)) {
        /* From a link that carries a tenth of what is saved in a period to one that carries three times as much. */
        p->host_bandwidth = (double)(bytes + 1) / seconds * random_between(&random, 0.1, 3, false);
        p->host_latency = random_chance(&random, 0.5) ? 1e-5 : 0;
        p->host_share = random_chance(&random, 0.25) ? 1 : 0;
    }
    choose_interval(&random, candidates, p);
    measure(s);
    if (random_chance(&random, 0.3)) p->period_seconds = s->seconds * random_between(&random, 0.5, 2, false);
    int64_t free = s->kept.peak + s->kept.stash, fixed = s->kept.total - free;
    p->capacity_bytes = fixed + (int64_t)((double)free * random_between(&random, 0.15, 1, false));
    return ons_memory_workspace_new(&s->work, &s->workspace);
}

ons_status *random_stage_make_large(uint64_t seed, uint32_t nodes, double share, ons_arena *arena, random_stage *s) {
    random_work_options options = random_work_graph(seed, nodes);
    ONS_TRY(random_work_make(&options, arena, &s->work));
    s->problem = (ons_stage_problem){.work = &s->work, .end = nodes, .load = {4, 1, true, false}};
    int64_t bytes;
    count_candidates(&s->problem, &bytes);
    s->problem.host_bandwidth = 0.5 * (double)bytes / ons_work_seconds(&s->work, 0, nodes);
    measure(s);
    s->problem.capacity_bytes = (int64_t)((double)s->kept.total * share);
    return ons_memory_workspace_new(&s->work, &s->workspace);
}

void random_stage_free(random_stage *s) { ons_memory_workspace_free(s->workspace); }
