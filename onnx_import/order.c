/* The order of nodes. ONNX asks for a sorted list; not every writer keeps to it. */
#include <stdlib.h>

#include "onnx_import/importer.h"

typedef struct sorter {
    Onnx__NodeProto *const *nodes;
    size_t count;
    ons_map makers;             /* name → node */
    ONS_VECTOR(uint32_t) needs; /* of all nodes, one after the other … */
    size_t *first;              /* … and where each node's begin; count + 1 entries */
} sorter;

static ons_status *find_makers(sorter *s) {
    for (size_t i = 0; i < s->count; ++i) {
        for (size_t k = 0; k < s->nodes[i]->n_output; ++k) {
            const char *name = s->nodes[i]->output[k];
            if (name[0] == '\0') continue;
            ONS_CHECK(ons_map_get(&s->makers, name) == ONS_MAP_ABSENT, ONS_INVALID_MODEL,
                      "tensor '%s' is made by two nodes", name);
            ONS_TRY(ons_map_set(&s->makers, name, (uint32_t)i));
        }
    }
    return NULL;
}

static ons_status *add_need(sorter *s, const char *name, const ons_map *own, uint32_t reader) {
    uint32_t maker = ons_map_get(&s->makers, name);
    if (maker == ONS_MAP_ABSENT || (own != NULL && ons_map_get(own, name) != ONS_MAP_ABSENT)) return NULL;
    if (own == NULL || maker != reader) /* a branch cannot capture what its own node makes; resolving will say so */
        ONS_PUSH(&s->needs, maker);
    return NULL;
}

static ons_status *define_own(const Onnx__GraphProto *graph, ons_map *own) {
    for (size_t i = 0; i < graph->n_input; ++i) ONS_TRY(ons_map_set(own, ons_text(graph->input[i]->name), 0));
    for (size_t i = 0; i < graph->n_initializer; ++i)
        ONS_TRY(ons_map_set(own, ons_text(graph->initializer[i]->name), 0));
    for (size_t i = 0; i < graph->n_node; ++i)
        for (size_t k = 0; k < graph->node[i]->n_output; ++k) ONS_TRY(ons_map_set(own, graph->node[i]->output[k], 0));
    return NULL;
}

static ons_status *add_captures(sorter *s, const Onnx__NodeProto *node, uint32_t reader);

/* Everything that a branch reads and does not make. The depth of branches was bounded when the file was scanned. */
static ons_status *add_branch(sorter *s, const Onnx__GraphProto *graph, uint32_t reader) {
    ons_map own = {0};
    ons_status *status = define_own(graph, &own);
    for (size_t i = 0; status == NULL && i < graph->n_node; ++i) {
        const Onnx__NodeProto *node = graph->node[i];
        for (size_t k = 0; status == NULL && k < node->n_input; ++k) status = add_need(s, node->input[k], &own, reader);
        if (status == NULL) status = add_captures(s, node, reader);
    }
    for (size_t i = 0; status == NULL && i < graph->n_output; ++i)
        status = add_need(s, ons_text(graph->output[i]->name), &own, reader);
    ons_map_free(&own);
    return status;
}

static ons_status *add_captures(sorter *s, const Onnx__NodeProto *node, uint32_t reader) {
    for (size_t i = 0; i < node->n_attribute; ++i) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g != NULL) ONS_TRY(add_branch(s, attribute->g, reader));
        for (size_t k = 0; k < attribute->n_graphs; ++k) ONS_TRY(add_branch(s, attribute->graphs[k], reader));
    }
    return NULL;
}

static ons_status *find_needs(sorter *s) {
    s->first = calloc(s->count + 1, sizeof *s->first);
    if (s->first == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < s->count; ++i) {
        s->first[i] = s->needs.count;
        for (size_t k = 0; k < s->nodes[i]->n_input; ++k)
            ONS_TRY(add_need(s, s->nodes[i]->input[k], NULL, (uint32_t)i));
        ONS_TRY(add_captures(s, s->nodes[i], (uint32_t)i));
    }
    s->first[s->count] = s->needs.count;
    return NULL;
}

typedef struct visit {
    uint32_t node;
    size_t next; /* need to be looked at */
} visit;

typedef enum colour { WHITE, ON_THE_WAY, DONE } colour;

/* Depth first, from the nodes in the file's order: whatever a node needs is placed before it. No node is on the stack
 * twice, so it never holds more than `count`. */
static ons_status *sort_depth_first(sorter *s, visit *stack, uint8_t *colours, uint32_t *order) {
    size_t placed = 0;
    for (uint32_t root = 0; root < s->count; ++root) {
        size_t depth = 0;
        if (colours[root] == WHITE) stack[depth++] = (visit){root, s->first[root]};
        while (depth > 0) {
            visit *top = &stack[depth - 1];
            colours[top->node] = ON_THE_WAY;
            if (top->next == s->first[top->node + 1]) {
                colours[top->node] = DONE;
                order[placed++] = top->node;
                --depth;
                continue;
            }
            uint32_t need = s->needs.items[top->next++];
            const Onnx__NodeProto *node = s->nodes[need];
            ONS_CHECK(colours[need] != ON_THE_WAY, ONS_INVALID_MODEL,
                      "the graph has a cycle: node '%s' (%s) depends on its own output '%s'", ons_text(node->name),
                      ons_text(node->op_type), node->n_output > 0 ? node->output[0] : "");
            if (colours[need] == WHITE) stack[depth++] = (visit){need, s->first[need]};
        }
    }
    return NULL;
}

static ons_status *sort(sorter *s, uint32_t *order) {
    ONS_TRY(find_makers(s));
    ONS_TRY(find_needs(s));
    visit *stack = calloc(s->count + 1, sizeof *stack);
    uint8_t *colours = calloc(s->count + 1, 1);
    ons_status *status =
        stack == NULL || colours == NULL ? ons_status_out_of_memory() : sort_depth_first(s, stack, colours, order);
    free(stack);
    free(colours);
    return status;
}

ons_status *ons_order_nodes(Onnx__NodeProto *const *nodes, size_t count, uint32_t *order) {
    sorter s = {.nodes = nodes, .count = count};
    ons_status *status = sort(&s, order);
    ons_map_free(&s.makers);
    ons_vector_free(&s.needs);
    free(s.first);
    return status;
}
