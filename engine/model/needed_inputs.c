#include "engine/model/needed_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "graph/passes/readers.h"

typedef struct search {
    const ons_graph *graph;
    bool *needed; /* of each value */
} search;

static void need_captured(const search *s, const ons_graph *branch) {
    for (ons_value_id id = 0; id < branch->values.count; ++id) {
        ons_value_id outer = ons_graph_find_value(s->graph, ons_graph_value(branch, id)->name);
        if (outer != ONS_NONE && ons_captured(s->graph, outer, branch) == id) s->needed[outer] = true;
    }
}

static void need_node(const search *s, const ons_node *node) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) s->needed[node->inputs[i]] = true;
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (node->attributes[i].kind == ONS_ATTRIBUTE_GRAPH) need_captured(s, node->attributes[i].graph);
}

/* Marks what the marked values depend on. */
static void mark(const search *s) {
    for (ons_node_id id = (ons_node_id)s->graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(s->graph, id);
        bool any = false;
        for (uint32_t i = 0; i < node->output_count; ++i)
            any |= node->outputs[i] != ONS_NONE && s->needed[node->outputs[i]];
        if (any) need_node(s, node);
    }
}

/* Whether the run takes the output: the loss is taken of the first, unless an evaluation asks for others alone. */
static bool takes_output(const ons_graph *graph, const ons_config *config, size_t output) {
    const char *name = ons_graph_value(graph, graph->outputs.items[output])->name;
    bool loss = config->outputs.count == 0 || config->loss.text != NULL || config->target != NULL;
    bool takes = loss && output == 0;
    for (size_t i = 0; i < config->outputs.count; ++i)
        takes |= config->outputs.items[i].name[0] == '\0' || strcmp(config->outputs.items[i].name, name) == 0;
    return takes;
}

static bool has_data(const ons_config *config, const char *name, size_t inputs) {
    bool has = config->tokens != NULL;
    for (size_t i = 0; i < config->inputs.count; ++i) {
        const char *given = config->inputs.items[i].name;
        has |= strcmp(given, name) == 0 || (given[0] == '\0' && inputs == 1);
    }
    for (size_t i = 0; i < config->arrays.count; ++i) has |= strcmp(config->arrays.items[i].name, name) == 0;
    return has;
}

static bool gives_data(const ons_config *config) {
    return config->inputs.count > 0 || config->arrays.count > 0 || config->tokens != NULL;
}

static ons_value_id input_at(const ons_graph *graph, size_t input) { return graph->inputs.items[input]; }

/* Whether outputs that the run leaves out are all that needs the inputs without data. */
static bool can_leave_out(const search *s, const ons_config *config) {
    const ons_graph *graph = s->graph;
    size_t missing = 0, needed = 0;
    for (size_t i = 0; i < graph->outputs.count; ++i)
        if (takes_output(graph, config, i)) s->needed[graph->outputs.items[i]] = true;
    mark(s);
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_value_id id = input_at(graph, i);
        bool has = has_data(config, ons_graph_value(graph, id)->name, graph->inputs.count);
        missing += !has;
        needed += !has && s->needed[id];
    }
    return missing > 0 && needed == 0;
}

static void keep_taken_outputs(ons_graph *graph, const ons_config *config) {
    size_t kept = 0;
    for (size_t i = 0; i < graph->outputs.count; ++i) /* what is overwritten has been looked at */
        if (takes_output(graph, config, i)) graph->outputs.items[kept++] = graph->outputs.items[i];
    graph->outputs.count = kept;
}

/* Takes the inputs that are not needed from the list. */
static void drop_inputs(ons_model *m, const bool *needed) {
    ons_graph *graph = m->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_value_id id = input_at(graph, i);
        if (!needed[id]) {
            m->unread[m->unread_count++] = ons_graph_value(graph, id)->name;
            continue;
        }
        graph->inputs.items[kept] = id;
        if (graph->symbols != NULL) memmove(&graph->symbols[kept], &graph->symbols[i], sizeof graph->symbols[0]);
        ++kept;
    }
    graph->inputs.count = kept;
}

/* The outputs that stay, and what they need. With none at all everything stays. */
static void leave_out(ons_model *m, const ons_config *config, bool *needed) {
    ons_graph *graph = m->graph;
    const search s = {.graph = graph, .needed = needed};
    if (gives_data(config) && can_leave_out(&s, config)) keep_taken_outputs(graph, config);
    memset(needed, 0, graph->values.count * sizeof *needed);
    for (size_t i = 0; i < graph->outputs.count; ++i) needed[graph->outputs.items[i]] = true;
    for (size_t i = 0; i < graph->read_by_unknown.count; ++i) needed[graph->read_by_unknown.items[i]] = true;
    mark(&s);
    drop_inputs(m, needed);
}

ons_status *ons_leave_out_inputs(ons_model *m, const ons_config *config) {
    ONS_NEW(m->unread, m->arena, m->graph->inputs.count + 1);
    if (m->graph->outputs.count == 0) return NULL;
    bool *needed = calloc(m->graph->values.count + 1, sizeof *needed);
    if (needed == NULL) return ons_status_out_of_memory();
    leave_out(m, config, needed);
    free(needed);
    return NULL;
}
