#include "planner/search/list_stages.h"

#include <string.h>

enum { TRIED_MOST = 1000 };

typedef struct numbering {
    const ons_stage_graph *graph;
    const ons_schedule *schedule;
    uint32_t *old_of; /* [new number]: so far */
    uint32_t *new_of; /* [old number]; ONS_NO_NODE: not yet */
    uint32_t tried;
    uint32_t *best; /* `old_of` with the least shortage that the lists can run; where there is one: */
    int64_t shortage;
    bool found;
} numbering;

/* Micro-batches in flight that stages would need so as not to wait for what comes back, and the lists do not have. */
static int64_t shortage(const numbering *n) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n->graph->stage_count; ++i) {
        int64_t wanted = n->graph->stages[n->old_of[i]].in_flight, have = n->schedule->loads[i].in_flight;
        sum += wanted > have ? wanted - have : 0;
    }
    return sum;
}

/* Whether the lists can run over the edges as they are numbered. */
static ons_status *try_numbers(numbering *n, ons_arena *scratch) {
    const ons_stage_graph *g = n->graph;
    ons_stage_edge *items;
    ONS_NEW(items, scratch, (size_t)g->edge_count + 1);
    for (uint32_t i = 0; i < g->edge_count; ++i) {
        uint32_t from = n->new_of[g->edges[i].from], to = n->new_of[g->edges[i].to];
        items[i] = (ons_stage_edge){from, to, true, to != from + 1, ons_schedule_ahead(n->schedule, from, to)};
    }
    const ons_stage_edges edges = {items, g->edge_count};
    ons_status *status = ons_schedule_verify(n->schedule, &edges, scratch);
    if (status != NULL && ons_status_get_code(status) != ONS_INVALID_DATA) return status;
    if (status == NULL) {
        n->found = true;
        n->shortage = shortage(n);
        memcpy(n->best, n->old_of, g->stage_count * sizeof *n->best);
    }
    ons_status_free(status);
    return NULL;
}

static ons_status *try_whole(numbering *n) {
    ++n->tried;
    if (n->found && shortage(n) >= n->shortage) return NULL;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = try_numbers(n, scratch);
    ons_arena_free(scratch);
    return status;
}

static bool is_free(const numbering *n, uint32_t stage) {
    bool free = n->new_of[stage] == ONS_NO_NODE;
    for (uint32_t i = 0; i < n->graph->edge_count && free; ++i)
        free = n->graph->edges[i].to != stage || n->new_of[n->graph->edges[i].from] != ONS_NO_NODE;
    return free;
}

static bool is_settled(const numbering *n) { return n->tried >= TRIED_MOST || (n->found && n->shortage == 0); }

/* Gives the next number to each stage that may have it, in turn. */
static ons_status *number_from(numbering *n, uint32_t next) {
    if (next == n->graph->stage_count) return try_whole(n);
    for (uint32_t stage = 0; stage < n->graph->stage_count && !is_settled(n); ++stage) {
        if (!is_free(n, stage)) continue;
        n->old_of[next] = stage;
        n->new_of[stage] = next;
        ONS_TRY(number_from(n, next + 1));
        n->new_of[stage] = ONS_NO_NODE;
    }
    return NULL;
}

/* Gives the stages these numbers; devices go by the numbers, too. */
static ons_status *renumber(const numbering *n, const ons_workload *work, ons_arena *arena, ons_stage_graph *numbered) {
    const ons_stage_graph *g = n->graph;
    uint32_t *order, at = 0;
    ONS_NEW(order, arena, g->node_count);
    ONS_NEW(numbered->stages, arena, g->stage_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ons_graph_stage *stage = &numbered->stages[i];
        const ons_graph_stage *old = &g->stages[n->best[i]];
        *stage = *old;
        stage->first = at;
        for (uint32_t k = old->first; k < old->end; ++k) order[at++] = g->order[k];
        stage->end = at;
        stage->first_device = i;
    }
    numbered->order = order;
    return ons_stage_graph_connect(numbered, work, false, arena);
}

ons_status *ons_list_stages_number(const ons_stage_graph *graph, const ons_workload *work, const ons_schedule *schedule,
                                   ons_arena *arena, ons_stage_graph *numbered) {
    numbering n = {.graph = graph, .schedule = schedule};
    *numbered = *graph;
    ONS_CHECK(graph->stage_count == schedule->stages, ONS_INVALID_ARGUMENT,
              "the schedule has %u stages, and the model is split into %u", schedule->stages, graph->stage_count);
    ONS_NEW(n.old_of, arena, graph->stage_count);
    ONS_NEW(n.new_of, arena, graph->stage_count);
    ONS_NEW(n.best, arena, graph->stage_count);
    for (uint32_t i = 0; i < graph->stage_count; ++i) n.new_of[i] = ONS_NO_NODE;
    ONS_TRY(number_from(&n, 0));
    return n.found ? renumber(&n, work, arena, numbered) : NULL;
}
