#include "runtime/program/together.h"

#include "graph/sharing.h"

ons_status *ons_runs_find(const ons_graph *graph, const ons_sequence *sequence, const bool *idle, const bool *several,
                          ons_arena *arena, ons_runs *runs) {
    ONS_NEW(runs->first, arena, sequence->count + 1);
    ONS_NEW(runs->last, arena, sequence->count + 1);
    const ons_operator *op = NULL;
    uint32_t first = 0, count = 0;
    ons_part part = ONS_PART_BEGIN;
    for (uint32_t position = 0; position < sequence->count; ++position) {
        const ons_node *node = ons_graph_node(graph, sequence->nodes[position]);
        runs->first[position] = runs->last[position] = position;
        if (ons_is_view(node->op) || idle[sequence->nodes[position]]) continue;
        bool joins = several[sequence->nodes[position]] && node->op == op &&
                     ons_sequence_part(sequence, position) == part && count < ONS_TOGETHER_MOST;
        first = joins ? first : position;
        count = joins ? count + 1 : 1;
        op = node->op;
        part = ons_sequence_part(sequence, position);
        runs->first[position] = first;
    }
    for (uint32_t position = sequence->count; position-- > 0;) { /* the last of a run tells the others */
        uint32_t begin = runs->first[position];
        if (runs->last[begin] < runs->last[position]) runs->last[begin] = runs->last[position];
        runs->last[position] = runs->last[begin];
    }
    return NULL;
}

static bool overlap(const ons_extent *a, const ons_extent *b) { return a->first < b->end && b->first < a->end; }

/* Whether one of them writes what the other touches. */
static bool conflict(const ons_touched *a, const ons_touched *b) {
    for (uint32_t i = 0; i < a->count; ++i)
        for (uint32_t k = 0; k < b->count; ++k)
            if ((i >= a->reads || k >= b->reads) && overlap(&a->extents[i], &b->extents[k])) return true;
    return false;
}

uint32_t ons_together_count(const ons_touched *nodes, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i)
        for (uint32_t k = 0; k < i; ++k)
            if (conflict(&nodes[k], &nodes[i])) return i;
    return count;
}
