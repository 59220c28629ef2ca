#include "runtime/program/halves_align.h"

#include <stdlib.h>
#include <string.h>

typedef struct aligner {
    const ons_cut_stage *whole, *half;
    ons_value_id *of_whole, *of_half; /* [value]: the other's; ONS_NONE: none */
    uint32_t count;                   /* of the half's values in the end */
} aligner;

static ons_value *value_of(const ons_cut_stage *stage, ons_value_id id) { return ons_graph_value(stage->graph, id); }

static bool is_constant(const ons_value *value) { return value->kind == ONS_CONSTANT; }

/* Constants may be other ones, and one may stand for two. */
static bool pair(aligner *a, ons_value_id in_whole, ons_value_id in_half) {
    if (in_whole == ONS_NONE || in_half == ONS_NONE) return in_whole == in_half;
    if (a->of_whole[in_whole] == in_half) return true;
    if (a->of_whole[in_whole] == ONS_NONE && a->of_half[in_half] == ONS_NONE) {
        a->of_whole[in_whole] = in_half;
        a->of_half[in_half] = in_whole;
        return true;
    }
    return is_constant(value_of(a->whole, in_whole)) && is_constant(value_of(a->half, in_half));
}

static bool pair_node(aligner *a, ons_node_id id) {
    const ons_node *whole = ons_graph_node(a->whole->graph, id), *half = ons_graph_node(a->half->graph, id);
    bool same =
        whole->op == half->op && whole->input_count == half->input_count && whole->output_count == half->output_count;
    for (uint32_t i = 0; same && i < whole->input_count; ++i) same = pair(a, whole->inputs[i], half->inputs[i]);
    for (uint32_t i = 0; same && i < whole->output_count; ++i) same = pair(a, whole->outputs[i], half->outputs[i]);
    return same;
}

static ons_status *pair_nodes(aligner *a) {
    const ons_graph *whole = a->whole->graph, *half = a->half->graph;
    for (ons_node_id id = 0; id < whole->nodes.count; ++id)
        ONS_CHECK(id < half->nodes.count && pair_node(a, id), ONS_UNSUPPORTED,
                  "node '%s': with half a micro-batch's samples the stage would compute other nodes, so its forward "
                  "part cannot be computed in halves; leave --slices out",
                  ons_graph_node(whole, id)->name);
    bool same = whole->nodes.count == half->nodes.count &&
                memcmp(a->whole->end, a->half->end, ons_part_count(a->whole->chunks) * sizeof *a->half->end) == 0;
    ONS_CHECK(same, ONS_UNSUPPORTED,
              "with half a micro-batch's samples a stage would compute other nodes, so its forward part cannot be "
              "computed in halves; leave --slices out");
    return NULL;
}

/* of_half becomes the new id of each of the half's values. */
static void number_rest(aligner *a) {
    a->count = (uint32_t)a->whole->graph->values.count;
    for (ons_value_id id = 0; id < a->half->graph->values.count; ++id)
        if (a->of_half[id] == ONS_NONE) a->of_half[id] = a->count++;
}

static void renumber(const aligner *a, ons_value_id *id) {
    if (*id != ONS_NONE) *id = a->of_half[*id];
}

static void renumber_lists(const aligner *a) {
    ons_graph *graph = a->half->graph;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) renumber(a, &node->inputs[i]);
        for (uint32_t i = 0; i < node->output_count; ++i) renumber(a, &node->outputs[i]);
    }
    for (size_t i = 0; i < graph->inputs.count; ++i) renumber(a, &graph->inputs.items[i]);
    for (size_t i = 0; i < graph->outputs.count; ++i) renumber(a, &graph->outputs.items[i]);
    for (uint32_t i = 0; i < a->half->send_count; ++i) renumber(a, &a->half->sends[i].value);
    for (uint32_t i = 0; i < a->half->receive_count; ++i) renumber(a, &a->half->receives[i].value);
    for (uint32_t i = 0; i < a->half->swap_count; ++i) {
        renumber(a, &a->half->swaps[i].value);
        renumber(a, &a->half->swaps[i].back);
    }
}

/* Where the half has no value of its own. */
static ons_status *empty_constant(const aligner *a, ons_value_id id, ons_value *value) {
    *value = *value_of(a->whole, id);
    value->name = ons_arena_format(a->half->graph->arena, "%s/absent", value->name);
    value->kind = ONS_CONSTANT;
    value->producer = value->pair = ONS_NONE;
    value->data = ONS_NO_DATA;
    return value->name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *move_values(const aligner *a) {
    ons_graph *graph = a->half->graph;
    size_t before = graph->values.count;
    ons_value *values = malloc((before + 1) * sizeof *values);
    if (values == NULL || !ons_vector_reserve(&graph->values, a->count - before)) {
        free(values);
        return ons_status_out_of_memory();
    }
    memcpy(values, graph->values.items, before * sizeof *values);
    ons_status *status = NULL;
    for (ons_value_id id = 0; status == NULL && id < a->whole->graph->values.count; ++id)
        if (a->of_whole[id] == ONS_NONE) status = empty_constant(a, id, &graph->values.items[id]);
    for (ons_value_id id = 0; status == NULL && id < before; ++id) {
        ons_value *value = &graph->values.items[a->of_half[id]];
        *value = values[id];
        renumber(a, &value->pair);
        status = ons_map_set(&graph->value_names, value->name, a->of_half[id]);
    }
    graph->values.count = a->count;
    free(values);
    return status;
}

static bool is_aligned(const aligner *a) {
    bool same = a->count == a->half->graph->values.count;
    for (ons_value_id id = 0; same && id < a->half->graph->values.count; ++id) same = a->of_half[id] == id;
    return same;
}

static ons_status *align(aligner *a) {
    memset(a->of_whole, 0xff, a->whole->graph->values.count * sizeof *a->of_whole);
    memset(a->of_half, 0xff, a->half->graph->values.count * sizeof *a->of_half);
    ONS_TRY(pair_nodes(a));
    number_rest(a);
    if (is_aligned(a)) return NULL;
    renumber_lists(a);
    return move_values(a);
}

ons_status *ons_halves_align(const ons_cut_stage *whole, const ons_cut_stage *half) {
    aligner a = {.whole = whole, .half = half};
    a.of_whole = malloc((whole->graph->values.count + 1) * sizeof *a.of_whole);
    a.of_half = malloc((half->graph->values.count + 1) * sizeof *a.of_half);
    ons_status *status = a.of_whole == NULL || a.of_half == NULL ? ons_status_out_of_memory() : align(&a);
    free(a.of_whole);
    free(a.of_half);
    return status;
}
