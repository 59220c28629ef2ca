#include "tests/rooms/kernels/graph_run.h"

#include <stdlib.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"

enum { OPERANDS_MOST = 12, THREADS = 2 };

static ons_status *fill(const ons_graph *graph, ons_value_id id, void *data) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *constant = ons_graph_constant(graph, id);
    uint64_t random = 88172645463325252u;
    for (const char *c = value->name; *c != '\0'; ++c) random = random * 31 + (unsigned char)*c;
    int64_t count = ons_elements(&value->type);
    double *words = calloc((size_t)count + 1, sizeof *words);
    if (words == NULL) return ons_status_out_of_memory();
    for (int64_t i = 0; i < count; ++i) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        words[i] = (double)(random % 20001) / 10000 - 1;
        if (value->kind == ONS_BUFFER) words[i] = 1 + words[i] / 2;
    }
    if (constant != NULL) ons_widen(constant->type.dtype, constant->data, count, words);
    ons_narrow(value->type.dtype, words, count, data);
    free(words);
    return NULL;
}

static ons_status *run_node(const ons_graph *graph, ons_node_id id, const ons_target *target, void **values) {
    static const ons_step step = {.seed = 1, .step = 1, .counted_targets = 7, .sample_share = 1};
    const ons_node *node = ons_graph_node(graph, id);
    const void *inputs[OPERANDS_MOST] = {NULL};
    void *outputs[OPERANDS_MOST] = {NULL};
    ons_operands operands;
    ONS_CHECK(node->input_count <= OPERANDS_MOST && node->output_count <= OPERANDS_MOST, ONS_DEFECT,
              "%s has more operands than this is made for", node->op->name);
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) inputs[i] = values[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) outputs[i] = values[node->outputs[i]];
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_operands_of(graph, id, arena, &operands);
    if (status == NULL)
        status = ons_run_once(ons_kernels_registry(), target, &operands, &step, THREADS, inputs, outputs);
    ons_arena_free(arena);
    return status;
}

ons_status *ons_graph_run(const ons_graph *graph, const ons_target *target, void ***values) {
    *values = calloc(graph->values.count + 1, sizeof **values);
    if (*values == NULL) return ons_status_out_of_memory();
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        (*values)[id] = calloc(1, ons_bytes_of(ons_kernels_registry(), &value->type) + 64);
        if ((*values)[id] == NULL) return ons_status_out_of_memory();
        if (value->producer == ONS_NONE) ONS_TRY(fill(graph, id, (*values)[id]));
    }
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) ONS_TRY(run_node(graph, id, target, *values));
    return NULL;
}

void ons_graph_run_free(const ons_graph *graph, void **values) {
    for (size_t i = 0; values != NULL && i < graph->values.count; ++i) free(values[i]);
    free(values);
}
