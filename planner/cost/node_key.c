#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "graph/operator.h"
#include "planner/cost/node_costs.h"

/* What tensors and graphs of attributes hold is left out: the nodes that they are worked into have keys of their own.
 */
static uint64_t digest(const ons_node *node) {
    uint64_t hash = ONS_HASH_BASIS;
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i) {
        const ons_attribute *a = &node->attributes[i];
        hash = ons_hash_bytes(hash, &a->kind, sizeof a->kind);
        switch (a->kind) {
        case ONS_ATTRIBUTE_INT: hash = ons_hash_bytes(hash, &a->i, sizeof a->i); break;
        case ONS_ATTRIBUTE_FLOAT: hash = ons_hash_bytes(hash, &a->f, sizeof a->f); break;
        case ONS_ATTRIBUTE_STRING: hash = a->s == NULL ? hash : ons_hash_bytes(hash, a->s, strlen(a->s) + 1); break;
        case ONS_ATTRIBUTE_INTS: hash = ons_hash_bytes(hash, a->ints, a->count * sizeof *a->ints); break;
        case ONS_ATTRIBUTE_FLOATS: hash = ons_hash_bytes(hash, a->floats, a->count * sizeof *a->floats); break;
        case ONS_ATTRIBUTE_STRINGS:
            for (uint32_t k = 0; k < a->count; ++k)
                hash = ons_hash_bytes(hash, a->strings[k], strlen(a->strings[k]) + 1);
            break;
        case ONS_ATTRIBUTE_ABSENT:
        case ONS_ATTRIBUTE_TENSOR:
        case ONS_ATTRIBUTE_GRAPH: break;
        }
    }
    return hash;
}

static void print_types(FILE *out, const ons_graph *graph, const ons_value_id *ids, uint32_t count) {
    char text[ONS_TYPE_TEXT];
    for (uint32_t i = 0; i < count; ++i) {
        const ons_type *type = ids[i] == ONS_NONE ? NULL : &ons_graph_value(graph, ids[i])->type;
        fprintf(out, " %s", type == NULL ? "-" : ons_type_print(type, text));
        if (type != NULL && type->layout != ONS_LAYOUT_ONNX) fprintf(out, "@%" PRIu32, type->layout);
    }
}

ons_status *ons_node_key(const ons_graph *graph, ons_node_id id, ons_arena *arena, const char **key) {
    const ons_node *node = ons_graph_node(graph, id);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return ons_status_out_of_memory();
    fprintf(out, "%s", node->op->name);
    print_types(out, graph, node->inputs, node->input_count);
    fputs(" >", out);
    print_types(out, graph, node->outputs, node->output_count);
    fprintf(out, " #%016" PRIx64, digest(node));
    ONS_TRY(ons_text_close(out, &text));
    *key = ons_arena_copy_text(arena, text);
    free(text);
    return *key != NULL ? NULL : ons_status_out_of_memory();
}
