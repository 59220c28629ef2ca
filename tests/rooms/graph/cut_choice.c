/* The random choices of a case; without Criterion, so that plain programs make them too. */
#include <stdlib.h>

#include "graph/sharing.h"
#include "tests/rooms/graph/cut_case.h"

static void *allocate(const cut_case *c, size_t count, size_t size) {
    void *memory = ons_arena_allocate(c->arena, count, size);
    if (memory == NULL) abort();
    return memory;
}

uint32_t cut_case_random(cut_case *c, uint32_t below) {
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((c->random >> 33) % below);
}

void cut_case_slice(cut_case *c, uint32_t stages) {
    uint32_t positions = c->input.costs.graph_work.work.node_count, *ends;
    ends = allocate(c, stages, sizeof *ends);
    for (uint32_t i = 0; i + 1 < stages; ++i) ends[i] = 1 + cut_case_random(c, positions - 1);
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) {
        c->stage_of_node[id] = 0;
        for (uint32_t i = 0; i + 1 < stages; ++i)
            c->stage_of_node[id] += c->input.costs.graph_work.position_of_node[id] >= ends[i];
    }
}

void cut_case_scatter(cut_case *c, uint32_t stages) {
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) c->stage_of_node[id] = cut_case_random(c, stages);
}

/* -------------------------------------------------------------------------------------------------------- decisions */

/* The stage's value whose bytes a value shows. */
static ons_value_id root_of(const ons_graph *graph, ons_value_id value) {
    for (;;) {
        ons_node_id maker = ons_graph_value(graph, value)->producer;
        if (maker == ONS_NONE || !ons_is_view(ons_graph_node(graph, maker)->op)) return value;
        value = ons_graph_node(graph, maker)->inputs[0];
    }
}

static bool *find_saved(const cut_case *c, const ons_cut_stage *stage) {
    bool *saved = allocate(c, stage->graph->values.count + 1, sizeof *saved);
    for (ons_node_id id = stage->end[stage->chunks]; id < stage->end[3 * stage->chunks]; ++id) {
        const ons_node *node = ons_graph_node(stage->graph, id);
        for (uint32_t i = 0; i < node->input_count && !ons_is_view(node->op); ++i)
            if (node->inputs[i] != ONS_NONE) saved[root_of(stage->graph, node->inputs[i])] = true;
    }
    return saved;
}

static bool is_received_forward(const ons_cut_stage *stage, ons_value_id value) {
    bool found = false;
    for (uint32_t i = 0; i < stage->receive_count; ++i)
        found |= stage->receives[i].value == value && stage->receives[i].kind == ONS_PART_FORWARD;
    for (size_t i = 0; i < stage->graph->inputs.count; ++i) found |= stage->graph->inputs.items[i] == value;
    return found;
}

/* A forward node that runs in this stage alone, from the whole graph's node `from` on; ONS_NONE: there is none. */
static ons_node_id pick_forward(cut_case *c, const ons_cut_stage *stage, ons_node_id from) {
    ons_node_id found = ONS_NONE;
    for (ons_node_id id = stage->end[ONS_PART_BEGIN], seen = 0; id < stage->end[stage->chunks]; ++id) {
        const ons_node *node = ons_graph_node(stage->graph, id);
        if (ons_is_view(node->op) || node->per_step || stage->original[id] < from) continue;
        if (cut_case_random(c, ++seen) == 0) found = stage->original[id];
    }
    return found;
}

/* What arrives at a stage that has no forward nodes cannot be copied to the host after one. */
static bool all_have_forward_nodes(const ons_cut_stage *device) {
    bool all = true;
    for (uint32_t i = 0; i < device->chunks; ++i) all &= device->end[i] < device->end[i + 1];
    return all;
}

static void decide_value(cut_case *c, const ons_cut_stage *stage, ons_value_id value, ons_cut_decision *list,
                         uint32_t *count) {
    ons_value_id own = stage->value_of[value];
    ons_node_id maker = ons_graph_value(stage->graph, own)->producer;
    if (ons_graph_value(stage->graph, own)->pair != ONS_NONE) return;
    bool made = maker != ONS_NONE && maker >= stage->end[ONS_PART_BEGIN] && maker < stage->end[stage->chunks] &&
                !ons_graph_node(stage->graph, maker)->per_step;
    bool arrives = !made && is_received_forward(stage, own) && all_have_forward_nodes(stage);
    if (!made && (c->evictions == CUT_RECOMPUTES || !arrives)) return;
    bool again = made && c->evictions != CUT_SWAPS && (c->evictions == CUT_RECOMPUTES || cut_case_random(c, 2) == 0);
    ons_cut_decision d = {
        .eviction = again ? ONS_EVICTION_RECOMPUTE : ONS_EVICTION_SWAP,
        .value = value,
        .out_after = pick_forward(c, stage, made ? stage->original[maker] : 0),
        .in_before = pick_forward(c, stage, 0),
        .gone_before = cut_case_random(c, 3) == 0 ? ONS_NONE : pick_forward(c, stage, 0),
    };
    if (d.in_before != ONS_NONE && d.out_after != ONS_NONE) list[(*count)++] = d;
}

void cut_case_decide(cut_case *c, const ons_cut *plain, uint32_t one_in, ons_cut_options *options) {
    ons_cut_decision *list = allocate(c, plain->stage_count * c->graph->values.count + 1, sizeof *list);
    options->decisions = list;
    options->decision_count = 0;
    for (uint32_t s = 0; s < plain->stage_count; ++s) {
        const ons_cut_stage *stage = &plain->stages[s];
        const bool *saved = find_saved(c, stage);
        for (ons_value_id id = 0; id < c->graph->values.count; ++id)
            if (stage->value_of[id] != ONS_NONE && saved[stage->value_of[id]] && cut_case_random(c, one_in) == 0)
                decide_value(c, stage, id, list, &options->decision_count);
    }
}
