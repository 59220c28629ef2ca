#include "onnx_import/needed.h"

#include <stdlib.h>

typedef struct search {
    const Onnx__GraphProto *graph;
    ons_map makers; /* name → number of its node */
    bool *needed;
    ONS_VECTOR(uint32_t) waiting;
} search;

static ons_status *need(search *s, const char *name) {
    uint32_t maker = ons_map_get(&s->makers, name);
    if (maker == ONS_MAP_ABSENT || s->needed[maker]) return NULL;
    s->needed[maker] = true;
    ONS_PUSH(&s->waiting, maker);
    return NULL;
}

/* What a node reads: its inputs, and whatever its branches read. Nesting was limited when the file was opened. */
static ons_status *need_inputs(search *s, const Onnx__NodeProto *node) {
    for (size_t i = 0; i < node->n_input; ++i) ONS_TRY(need(s, node->input[i]));
    for (size_t a = 0; a < node->n_attribute; ++a) {
        const Onnx__GraphProto *branch = node->attribute[a]->g;
        for (size_t i = 0; branch != NULL && i < branch->n_node; ++i) ONS_TRY(need_inputs(s, branch->node[i]));
        for (size_t i = 0; branch != NULL && i < branch->n_output; ++i)
            ONS_TRY(need(s, ons_text(branch->output[i]->name)));
    }
    return NULL;
}

static ons_status *list_makers(search *s) {
    for (size_t i = 0; i < s->graph->n_node; ++i)
        for (size_t k = 0; k < s->graph->node[i]->n_output; ++k)
            if (s->graph->node[i]->output[k][0] != '\0')
                ONS_TRY(ons_map_set(&s->makers, s->graph->node[i]->output[k], (uint32_t)i));
    return NULL;
}

static ons_status *list_needed_nodes(search *s, const char *const *outputs, size_t count) {
    ONS_TRY(list_makers(s));
    for (size_t i = 0; i < count; ++i) ONS_TRY(need(s, outputs[i]));
    while (s->waiting.count > 0) ONS_TRY(need_inputs(s, s->graph->node[s->waiting.items[--s->waiting.count]]));
    return NULL;
}

ons_status *ons_needed_nodes(const Onnx__GraphProto *graph, const char *const *outputs, size_t count, bool *needed) {
    search s = {.graph = graph, .needed = needed};
    ons_status *status = list_needed_nodes(&s, outputs, count);
    ons_map_free(&s.makers);
    ons_vector_free(&s.waiting);
    return status;
}
