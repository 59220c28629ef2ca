#include "planner/stage_graph/stage_graph.h"

#include <stdlib.h>

#include "planner/workload/order.h"

ons_status *ons_stage_graph_places(const ons_stage_graph *g, ons_arena *arena, uint32_t **stage_at) {
    ONS_NEW(*stage_at, arena, g->node_count);
    for (uint32_t stage = 0; stage < g->stage_count; ++stage)
        for (uint32_t i = g->stages[stage].first; i < g->stages[stage].end; ++i) (*stage_at)[i] = stage;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ edges */

/* [node]: its stage. */
static ons_status *stages_of_nodes(const ons_stage_graph *g, ons_arena *arena, uint32_t **stage_of) {
    uint32_t *stage_at;
    ONS_TRY(ons_stage_graph_places(g, arena, &stage_at));
    ONS_NEW(*stage_of, arena, g->node_count);
    for (uint32_t i = 0; i < g->node_count; ++i) (*stage_of)[g->order[i]] = stage_at[i];
    return NULL;
}

static int by_stages(const void *a, const void *b) {
    const ons_graph_edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to == y->to ? 0 : x->to < y->to ? -1 : 1;
}

static void drop_repeats(ons_stage_graph *g) {
    uint32_t kept = 0;
    qsort(g->edges, g->edge_count, sizeof *g->edges, by_stages);
    for (uint32_t i = 0; i < g->edge_count; ++i)
        if (kept == 0 || by_stages(&g->edges[kept - 1], &g->edges[i]) != 0) g->edges[kept++] = g->edges[i];
    g->edge_count = kept;
}

ons_status *ons_stage_graph_connect(ons_stage_graph *g, const ons_workload *work, bool line, ons_arena *arena) {
    ons_work_edges readers;
    uint32_t *stage_of;
    ONS_TRY(ons_work_edges_make(work, true, arena, &readers));
    ONS_TRY(stages_of_nodes(g, arena, &stage_of));
    ONS_NEW(g->edges, arena, (size_t)readers.begin[work->node_count] + g->stage_count);
    g->edge_count = 0;
    for (uint32_t node = 0; node < work->node_count; ++node)
        for (uint32_t i = readers.begin[node]; i < readers.begin[node + 1]; ++i) {
            uint32_t from = stage_of[node], to = stage_of[readers.next[i]];
            if (from != to) g->edges[g->edge_count++] = (ons_graph_edge){.from = from, .to = to};
        }
    for (uint32_t i = 0; line && i + 1 < g->stage_count; ++i)
        g->edges[g->edge_count++] = (ons_graph_edge){.from = i, .to = i + 1};
    drop_repeats(g);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- in flight */

static int64_t asked_by(const ons_stage_graph *g, const ons_graph_edge *e) {
    const ons_graph_stage *to = &g->stages[e->to];
    int64_t samples = ons_in_flight_before(g->stages[e->from].pace, to->pace, to->in_flight);
    return samples < g->batch ? samples : g->batch;
}

void ons_stage_graph_set_in_flight(ons_stage_graph *g) {
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ons_graph_stage *s = &g->stages[i];
        s->in_flight = ons_in_flight_last(s->pace);
        if (s->in_flight > g->batch) s->in_flight = g->batch;
    }
    for (uint32_t i = g->edge_count; i-- > 0;) { /* edges ascend by `from`, which is below `to` */
        ons_graph_stage *from = &g->stages[g->edges[i].from];
        int64_t samples = asked_by(g, &g->edges[i]);
        if (samples > from->in_flight) from->in_flight = samples;
    }
}

/* ------------------------------------------------------------------------------------------------------- conditions */

/* Checks C1: the stages hold every position once, in their order, and the order every node once. */
static ons_status *check_cover(const ons_stage_graph *g, const ons_workload *work, ons_arena *arena) {
    bool *seen;
    uint32_t end = 0;
    ONS_NEW(seen, arena, work->node_count);
    ONS_CHECK(g->node_count == work->node_count, ONS_INVALID_DATA, "C1: the plan is of %u nodes, the model has %u",
              g->node_count, work->node_count);
    for (uint32_t i = 0; i < g->node_count; ++i) {
        ONS_CHECK(g->order[i] < g->node_count && !seen[g->order[i]], ONS_INVALID_DATA,
                  "C1: position %u of the order holds a node that is not there, or stands in it twice", i);
        seen[g->order[i]] = true;
    }
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        ONS_CHECK(s->first == end && s->end > s->first && s->end <= g->node_count, ONS_INVALID_DATA,
                  "C1: stage %u holds positions %u to %u, and should begin at %u", i, s->first, s->end, end);
        end = s->end;
    }
    ONS_CHECK(end == g->node_count, ONS_INVALID_DATA, "C1: the stages hold %u of %u nodes", end, g->node_count);
    return NULL;
}

/* What can be reached from the stage over others must not lead back. */
static ons_status *check_convex(const ons_work_edges *readers, const uint32_t *stage_of, uint32_t count, uint32_t stage,
                                bool *left, uint32_t *stack) {
    uint32_t depth = 0;
    for (uint32_t node = 0; node < count; ++node) left[node] = false;
    for (uint32_t node = 0; node < count; ++node)
        if (stage_of[node] == stage) stack[depth++] = node;
    while (depth > 0) {
        uint32_t node = stack[--depth];
        for (uint32_t i = readers->begin[node]; i < readers->begin[node + 1]; ++i) {
            uint32_t reader = readers->next[i];
            ONS_CHECK(stage_of[node] == stage || stage_of[reader] != stage, ONS_INVALID_DATA,
                      "C1: a path leaves stage %u and comes back to it at node %u", stage, reader);
            if (stage_of[reader] == stage || left[reader]) continue;
            left[reader] = true;
            stack[depth++] = reader;
        }
    }
    return NULL;
}

static bool has_edge(const ons_stage_graph *g, uint32_t from, uint32_t to) {
    const ons_graph_edge wanted = {.from = from, .to = to};
    return bsearch(&wanted, g->edges, g->edge_count, sizeof *g->edges, by_stages) != NULL;
}

/* Checks C2: edges rise, so that they make no circle, and there is one wherever data goes. */
static ons_status *check_edges(const ons_stage_graph *g, const ons_work_edges *readers, const uint32_t *stage_of) {
    for (uint32_t i = 0; i < g->edge_count; ++i) {
        ONS_CHECK(g->edges[i].from < g->edges[i].to && g->edges[i].to < g->stage_count, ONS_INVALID_DATA,
                  "C2: an edge from stage %u to stage %u; numbers rise along edges, which so make no circle",
                  g->edges[i].from, g->edges[i].to);
        ONS_CHECK(i == 0 || by_stages(&g->edges[i - 1], &g->edges[i]) < 0, ONS_INVALID_DATA,
                  "C2: edge %u is not in ascending order", i);
    }
    for (uint32_t node = 0; node < g->node_count; ++node)
        for (uint32_t i = readers->begin[node]; i < readers->begin[node + 1]; ++i) {
            uint32_t from = stage_of[node], to = stage_of[readers->next[i]];
            ONS_CHECK(from == to || has_edge(g, from, to), ONS_INVALID_DATA,
                      "C2: node %u of stage %u reads what stage %u makes, and there is no edge between them",
                      readers->next[i], to, from);
        }
    return NULL;
}

/* Checks C3: every device belongs to one stage. */
static ons_status *check_devices(const ons_stage_graph *g, ons_arena *arena) {
    bool *taken;
    uint32_t count = 0;
    ONS_NEW(taken, arena, g->devices);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        ONS_CHECK(s->replicas > 0 && s->replicas <= g->devices && s->first_device <= g->devices - s->replicas,
                  ONS_INVALID_DATA, "C3: stage %u has %u replicas from device %u on; there are %u devices", i,
                  s->replicas, s->first_device, g->devices);
        for (uint32_t k = s->first_device; k < s->first_device + s->replicas; ++k, ++count) {
            ONS_CHECK(!taken[k], ONS_INVALID_DATA, "C3: device %u belongs to stage %u and to another", k, i);
            taken[k] = true;
        }
    }
    ONS_CHECK(count == g->devices, ONS_INVALID_DATA, "C3: %u of %u devices belong to a stage", count, g->devices);
    return NULL;
}

/* Replicas share a micro-batch evenly, micro-batches the batch, and as many samples are in flight as Table 2 asks for,
 * or all that there are. */
static ons_status *check_samples(const ons_stage_graph *g) {
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        ONS_CHECK(s->pace.samples > 0 && s->pace.turns > 0 && g->batch % s->pace.samples == 0 &&
                      s->pace.samples % s->replicas == 0,
                  ONS_INVALID_DATA,
                  "stage %u: micro-batches of %lld samples do not divide %lld, or %u replicas cannot share one evenly",
                  i, (long long)s->pace.samples, (long long)g->batch, s->replicas);
        int64_t least = ons_in_flight_last(s->pace) < g->batch ? ons_in_flight_last(s->pace) : g->batch;
        ONS_CHECK(s->in_flight >= least, ONS_INVALID_DATA, "stage %u: %lld samples in flight, and a turn has %lld", i,
                  (long long)s->in_flight, (long long)least);
    }
    for (uint32_t i = 0; i < g->edge_count; ++i) {
        int64_t least = asked_by(g, &g->edges[i]);
        const ons_graph_stage *from = &g->stages[g->edges[i].from];
        ONS_CHECK(from->in_flight >= least, ONS_INVALID_DATA,
                  "stage %u: %lld samples in flight; stage %u behind it asks for %lld", g->edges[i].from,
                  (long long)from->in_flight, g->edges[i].to, (long long)least);
    }
    return NULL;
}

ons_status *ons_stage_graph_check(const ons_stage_graph *g, const ons_workload *work, ons_arena *arena) {
    ons_work_edges readers;
    uint32_t *stage_of, *stack;
    bool *left;
    ONS_TRY(check_cover(g, work, arena));
    ONS_TRY(ons_work_edges_make(work, true, arena, &readers));
    ONS_TRY(stages_of_nodes(g, arena, &stage_of));
    ONS_NEW(left, arena, work->node_count);
    ONS_NEW(stack, arena, 2 * (size_t)work->node_count);
    for (uint32_t i = 0; i < g->stage_count; ++i)
        ONS_TRY(check_convex(&readers, stage_of, work->node_count, i, left, stack));
    ONS_TRY(check_edges(g, &readers, stage_of));
    ONS_TRY(check_devices(g, arena));
    return check_samples(g);
}
