/* What of a graph a backend does not run, told all at once. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/vector.h"
#include "graph/operands.h"
#include "graph/sharing.h"
#include "runtime/program/program.h"

/* One operator that is refused. */
typedef struct refusal {
    const ons_operator *op;
    const char *first; /* node */
    uint32_t nodes;
    ons_status *reason; /* of the first node; owned */
} refusal;
typedef ONS_VECTOR(refusal) refusals;

/* NULL: it runs. */
static ons_status *find_reason(const ons_graph *graph, const ons_backend *backend, ons_node_id id, ons_arena *arena) {
    const ons_node *node = ons_graph_node(graph, id);
    const char *why_not;
    if (ons_is_view(node->op)) return NULL;
    ONS_CHECK(ons_backend_has(backend, node->op, &why_not), ONS_UNSUPPORTED, "%s", why_not);
    ons_operands *operands;
    ONS_NEW(operands, arena, 1);
    ONS_TRY(ons_operands_of(graph, id, arena, operands));
    ons_prepare prepare = {.operands = operands, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    ons_status *status = ons_backend_prepare(backend, &prepare, &kernel);
    if (prepare.destroy != NULL) prepare.destroy(prepare.state);
    return status;
}

static ons_status *add(refusals *list, const ons_node *node, ons_status *reason) {
    for (size_t i = 0; i < list->count; ++i)
        if (list->items[i].op == node->op) {
            ++list->items[i].nodes;
            ons_status_free(reason);
            return NULL;
        }
    if (ons_vector_push(list, ((refusal){node->op, node->name, 1, reason}))) return NULL;
    ons_status_free(reason);
    return ons_status_out_of_memory();
}

static ons_status *find_all(const ons_graph *graph, const ons_backend *backend, refusals *list) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *reason = find_reason(graph, backend, id, arena);
        ons_arena_free(arena);
        if (reason == NULL) continue;
        if (ons_status_get_code(reason) != ONS_UNSUPPORTED) return reason;
        ONS_TRY(add(list, ons_graph_node(graph, id), reason));
    }
    return NULL;
}

static ons_status *describe_refusals(const refusals *list, const ons_backend *backend, const char *option) {
    char *text = NULL;
    size_t size;
    FILE *out = list->count == 0 ? NULL : open_memstream(&text, &size);
    if (out == NULL) return list->count == 0 ? NULL : ons_status_out_of_memory();
    for (size_t i = 0; i < list->count; ++i) {
        const refusal *each = &list->items[i];
        fprintf(out, "\n  %s (%u node%s, the first is '%s'): %s", each->op->name, each->nodes,
                each->nodes == 1 ? "" : "s", each->first, ons_status_get_message(each->reason));
    }
    ons_status *status = ons_text_close(out, &text);
    if (status == NULL)
        status = ons_status_new(ONS_UNSUPPORTED, "%s: %s cannot run all operators of this model; use --device cpu%s",
                                option, backend->title, text);
    free(text);
    return status;
}

ons_status *ons_program_check(const ons_graph *graph, const ons_backend *backend, const char *option) {
    refusals list = {0};
    ons_status *status = find_all(graph, backend, &list);
    if (status == NULL) status = describe_refusals(&list, backend, option);
    for (size_t i = 0; i < list.count; ++i) ons_status_free(list.items[i].reason);
    ons_vector_free(&list);
    return status;
}
