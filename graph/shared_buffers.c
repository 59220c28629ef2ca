#include "graph/shared_buffers.h"

#include <string.h>

#include "graph/sharing.h"

static bool same_attribute(const ons_attribute *a, const ons_attribute *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ONS_ATTRIBUTE_ABSENT: return true;
    case ONS_ATTRIBUTE_INT: return a->i == b->i;
    case ONS_ATTRIBUTE_FLOAT: return a->f == b->f;
    case ONS_ATTRIBUTE_STRING: return strcmp(a->s, b->s) == 0;
    case ONS_ATTRIBUTE_INTS: return a->count == b->count && memcmp(a->ints, b->ints, a->count * sizeof *a->ints) == 0;
    default: return false; /* nothing that is done to weights alone has others */
    }
}

static bool same_node(const ons_node *a, const ons_node *b) {
    bool random = (a->op->roles.traits & ONS_TRAIT_RANDOM) != 0;
    if (a->op != b->op || random || a->input_count != b->input_count || a->output_count != b->output_count)
        return false;
    for (uint32_t i = 0; a->op->attributes[i].name != NULL; ++i)
        if (!same_attribute(&a->attributes[i], &b->attributes[i])) return false;
    return true;
}

/* Contents that stay from step to step; constants, which passes name as they like, are the same where their data are.
 */
static bool same_kept(const ons_shared_buffers_side sides[2], const ons_value *a, const ons_value *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == ONS_PARAMETER) return strcmp(a->name, b->name) == 0;
    return a->kind == ONS_CONSTANT && a->data == b->data && a->data != ONS_NO_DATA &&
           sides[0].graph->store == sides[1].graph->store;
}

/* Made by the same nodes of the same contents. */
static bool same_value(const ons_shared_buffers_side sides[2], ons_value_id left, ons_value_id right) {
    if (left == ONS_NONE || right == ONS_NONE) return left == right;
    const ons_value *a = ons_graph_value(sides[0].graph, left), *b = ons_graph_value(sides[1].graph, right);
    if (!ons_type_equal(&a->type, &b->type)) return false;
    if (a->producer == ONS_NONE || b->producer == ONS_NONE) return a->producer == b->producer && same_kept(sides, a, b);
    const ons_node *m = ons_graph_node(sides[0].graph, a->producer), *n = ons_graph_node(sides[1].graph, b->producer);
    if (!same_node(m, n)) return false;
    for (uint32_t i = 0; i < m->output_count; ++i)
        if ((m->outputs[i] == left) != (n->outputs[i] == right)) return false;
    for (uint32_t i = 0; i < m->input_count; ++i)
        if (!same_value(sides, m->inputs[i], n->inputs[i])) return false;
    return true;
}

/* Whether all that is ever put into a buffer is what it was made for, by a node of the beginning that the micro-batches
 * read. */
static ons_status *find_lasting(const ons_shared_buffers_side *side, ons_arena *arena, bool **lasting) {
    const ons_execution_order *s = side->execution_order;
    const ons_liveness *l = side->liveness;
    ONS_NEW(*lasting, arena, (size_t)l->buffer_count + 1);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        const ons_buffer *buffer = &l->buffers[i];
        (*lasting)[i] = !buffer->persistent && buffer->owner != ONS_NONE &&
                        buffer->first < ons_execution_order_first(s) && buffer->last >= ons_execution_order_first(s);
    }
    for (uint32_t position = 0; position < s->count; ++position) {
        const ons_node *node = ons_graph_node(side->graph, s->nodes[position]);
        for (uint32_t i = 0; i < node->output_count && !ons_is_view(node->op); ++i) {
            ons_buffer_id buffer = node->outputs[i] == ONS_NONE ? ONS_NONE : l->buffer_of_value[node->outputs[i]];
            if (buffer != ONS_NONE && l->buffers[buffer].owner != node->outputs[i]) (*lasting)[buffer] = false;
        }
    }
    return NULL;
}

ons_status *ons_find_shared_buffers(const ons_shared_buffers_side sides[2], ons_arena *arena,
                                    ons_buffer_id **shared_buffers) {
    const ons_liveness *l = sides[1].liveness;
    bool *lasting[2];
    for (int i = 0; i < 2; ++i) ONS_TRY(find_lasting(&sides[i], arena, &lasting[i]));
    ONS_NEW(*shared_buffers, arena, (size_t)l->buffer_count + 1);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        (*shared_buffers)[i] = ONS_NONE;
        if (!lasting[1][i]) continue;
        const char *name = ons_graph_value(sides[1].graph, l->buffers[i].owner)->name;
        ons_value_id other = ons_graph_find_value(sides[0].graph, name);
        ons_buffer_id shared_buffer = other == ONS_NONE ? ONS_NONE : sides[0].liveness->buffer_of_value[other];
        if (shared_buffer != ONS_NONE && lasting[0][shared_buffer] &&
            sides[0].liveness->buffers[shared_buffer].owner == other &&
            sides[0].liveness->buffers[shared_buffer].bytes == l->buffers[i].bytes &&
            same_value(sides, other, l->buffers[i].owner))
            (*shared_buffers)[i] = shared_buffer;
    }
    return NULL;
}
