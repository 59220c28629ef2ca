#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/operator.h"
#include "graph/phase.h"

static const char *kind_name(ons_value_kind kind) {
    static const char *const names[] = {"input", "parameter", "constant", "activation", "gradient", "state", "buffer"};
    return names[kind];
}

static void print_attribute(FILE *out, const char *name, const ons_attribute *a) {
    switch (a->kind) {
    case ONS_ATTRIBUTE_ABSENT: return;
    case ONS_ATTRIBUTE_INT: fprintf(out, " %s=%" PRId64, name, a->i); return;
    case ONS_ATTRIBUTE_FLOAT: fprintf(out, " %s=%.9g", name, a->f); return;
    case ONS_ATTRIBUTE_STRING: fprintf(out, " %s=\"%s\"", name, a->s == NULL ? "" : a->s); return;
    case ONS_ATTRIBUTE_INTS:
    case ONS_ATTRIBUTE_FLOATS:
    case ONS_ATTRIBUTE_STRINGS:
        fprintf(out, " %s=[", name);
        for (uint32_t i = 0; i < a->count; ++i) {
            fputs(i == 0 ? "" : ",", out);
            if (a->kind == ONS_ATTRIBUTE_INTS)
                fprintf(out, "%" PRId64, a->ints[i]);
            else if (a->kind == ONS_ATTRIBUTE_FLOATS)
                fprintf(out, "%.9g", a->floats[i]);
            else
                fprintf(out, "\"%s\"", a->strings[i]);
        }
        fputs("]", out);
        return;
    case ONS_ATTRIBUTE_TENSOR: fprintf(out, " %s=tensor", name); return;
    case ONS_ATTRIBUTE_GRAPH: fprintf(out, " %s={%s}", name, a->graph == NULL ? "" : a->graph->name); return;
    }
}

static void print_attributes(FILE *out, const ons_node *node) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        print_attribute(out, node->op->attributes[i].name, &node->attributes[i]);
}

static void print_ids(FILE *out, const ons_graph *graph, const ons_value_id *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        fprintf(out, "%s%s", i == 0 ? "" : ", ", ids[i] == ONS_NONE ? "_" : ons_graph_value(graph, ids[i])->name);
}

static void print_node(FILE *out, const ons_graph *graph, const ons_node *node) {
    char type[ONS_TYPE_TEXT];
    fputs("  ", out);
    print_ids(out, graph, node->outputs, node->output_count);
    fprintf(out, " = %s(", node->op->name);
    print_ids(out, graph, node->inputs, node->input_count);
    fputs(")", out);
    print_attributes(out, node);
    if (node->output_count > 0 && node->outputs[0] != ONS_NONE)
        fprintf(out, " : %s", ons_type_print(&ons_graph_value(graph, node->outputs[0])->type, type));
    fprintf(out, " @%s%s\n", ons_phase_name(node->phase), node->per_step ? " per_step" : "");
}

ons_status *ons_graph_print(const ons_graph *graph, char **text) {
    size_t size = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &size);
    if (out == NULL) return ons_status_out_of_memory();
    fprintf(out, "graph %s {\n", graph->name);
    for (size_t i = 0; i < graph->values.count; ++i) {
        const ons_value *value = &graph->values.items[i];
        char type[ONS_TYPE_TEXT];
        if (value->producer == ONS_NONE)
            fprintf(out, "  %s %s : %s\n", kind_name(value->kind), value->name, ons_type_print(&value->type, type));
    }
    for (size_t i = 0; i < graph->nodes.count; ++i) print_node(out, graph, &graph->nodes.items[i]);
    fputs("  return ", out);
    print_ids(out, graph, graph->outputs.items, (uint32_t)graph->outputs.count);
    fputs("\n}\n", out);
    return ons_text_close(out, text);
}

ons_status *ons_node_print_attributes(const ons_node *node, char **text) {
    size_t size = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &size);
    if (out == NULL) return ons_status_out_of_memory();
    print_attributes(out, node);
    ONS_TRY(ons_text_close(out, text));
    if (size > 0) memmove(*text, *text + 1, size); /* each has a blank before it */
    return NULL;
}
