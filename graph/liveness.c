#include "graph/liveness.h"

typedef struct finder {
    const ons_liveness_options *o;
    const ons_graph *graph;
    const ons_registry *registry;
    const ons_execution_order *execution_order;
    ons_liveness *l;
    uint32_t *last_read; /* of each value: position of its last reader, 0 where there is none */
    uint32_t *position;  /* of each node */
    ons_part *weight; /* of each value: the first part of weight gradients that reads it; ONS_PART_BEGIN: none does */
    bool *either;     /* of each value: who reads it last is not known */
} finder;

static ons_buffer_id add_buffer(finder *f, ons_buffer buffer) {
    f->l->buffers[f->l->buffer_count] = buffer;
    return f->l->buffer_count++;
}

/* The last position at which a value is read; what the beginning makes for the micro-batches is read until their end.
 */
static void find_last_reads(finder *f) {
    const ons_execution_order *s = f->execution_order;
    for (uint32_t position = 0; position < s->count; ++position) {
        const ons_node *node = ons_graph_node(f->graph, s->nodes[position]);
        uint32_t begin = ons_execution_order_first(s), end = ons_execution_order_last(s);
        bool repeated = position >= begin && position < end;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            uint32_t *last = &f->last_read[node->inputs[i]];
            *last = position > *last ? position : *last;
            ons_node_id maker = ons_graph_value(f->graph, node->inputs[i])->producer;
            if (s->repeats && repeated && maker != ONS_NONE && f->position[maker] < begin && *last < end - 1)
                *last = end - 1;
        }
    }
}

static bool is_weight_part(const ons_execution_order *s, ons_part part) {
    return part > s->chunks && part < ons_part_last(s->chunks) && ons_part_kind_of(s->chunks, part) == ONS_PART_WEIGHT;
}

static void find_weight_readers(finder *f) {
    const ons_execution_order *s = f->execution_order;
    for (uint32_t position = s->count; position-- > 0;) {
        const ons_node *node = ons_graph_node(f->graph, s->nodes[position]);
        ons_part part = ons_execution_order_part(s, position);
        for (uint32_t i = 0; i < node->input_count && is_weight_part(s, part); ++i)
            if (node->inputs[i] != ONS_NONE) f->weight[node->inputs[i]] = part;
        for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias) {
            if (alias->kind != ONS_ALIAS_VIEW || node->outputs[alias->output] == ONS_NONE) continue;
            ons_part *source = &f->weight[node->inputs[alias->input]], view = f->weight[node->outputs[alias->output]];
            if (view != ONS_PART_BEGIN && (*source == ONS_PART_BEGIN || view < *source)) *source = view;
        }
    }
}

/* What weight gradients read that may be made later, or earlier, than a part that reads it as well. */
static void keep_until_either(finder *f) {
    const ons_execution_order *s = f->execution_order;
    uint32_t end = ons_execution_order_last(s);
    if (!f->o->unordered || end == ons_execution_order_first(s)) return;
    find_weight_readers(f);
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        if (f->weight[id] == ONS_PART_BEGIN || f->last_read[id] >= end) continue;
        f->either[id] = ons_execution_order_part(s, f->last_read[id]) > f->weight[id];
        if (f->either[id]) f->last_read[id] = end - 1;
    }
}

static void extend(ons_buffer *buffer, uint32_t position) {
    buffer->last = position > buffer->last ? position : buffer->last;
    buffer->last_read = position > buffer->last_read ? position : buffer->last_read;
}

/* Whether the output may take this input's place here. */
static bool may_take(const finder *f, const ons_node *node, const ons_alias *alias, uint32_t position) {
    if (alias->input >= node->input_count || node->inputs[alias->input] == ONS_NONE) return false;
    ons_value_id from = node->inputs[alias->input];
    ons_buffer_id id = f->l->buffer_of_value[from];
    if (id == ONS_NONE) return false;
    const ons_buffer *buffer = &f->l->buffers[id];
    const ons_value *out = ons_graph_value(f->graph, node->outputs[alias->output]);
    int64_t bytes = ons_registry_type_bytes(f->registry, &out->type);
    bool read_by_others = f->o->stays != NULL && f->o->stays[from] >= position; /* who would wait for them */
    if (buffer->persistent || read_by_others || f->either[from] || buffer->last != position || buffer->bytes != bytes ||
        ons_graph_value(f->graph, buffer->owner)->kind == ONS_INPUT)
        return false;
    bool elementwise = (node->op->roles.traits & ONS_TRAIT_ELEMENTWISE) != 0;
    /* As many bytes, but fewer and larger elements, which repeat: others of them are read after the first was written.
     */
    if (elementwise &&
        ons_shape_elements(&ons_graph_value(f->graph, from)->type.shape) != ons_shape_elements(&out->type.shape))
        return false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (i != alias->input && node->inputs[i] != ONS_NONE && f->l->buffer_of_value[node->inputs[i]] == id &&
            !(elementwise && node->inputs[i] == from))
            return false;
    /* Two outputs of one node cannot both have it. */
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && f->l->buffer_of_value[node->outputs[i]] == id) return false;
    return true;
}

/* The beginning of the backward part in which something leaves that stays until `until`; of the first one for what
 * leaves when all micro-batches have run. A part without nodes has no position of its own: what leaves at the end of
 * the micro-batches' nodes may do so in the last of their parts. */
static uint32_t leaving_part_begin(const ons_execution_order *s, uint32_t until) {
    ons_part part = ons_execution_order_part(s, until - 1);
    if (part < ons_part_last(s->chunks)) return ons_execution_order_begin(s, part);
    return until - 1 > ons_execution_order_last(s) ? ons_execution_order_begin(s, ons_part_first_backward(s->chunks))
                                                   : ons_execution_order_last(s);
}

/* What a backward part makes for the end of the step: weight gradients of smaller parts may be made after it. */
static void keep_from_backward(const finder *f, ons_buffer *buffer) {
    uint32_t backward = ons_execution_order_backward(f->execution_order),
             end = ons_execution_order_last(f->execution_order);
    if (f->o->unordered && buffer->first > backward && buffer->first < end && buffer->last_read >= end)
        buffer->first = backward;
}

/* The last read of anything that lies in the value's buffer. Filled in as values are placed: a view's readers extend
 * it. */
static void place_value(finder *f, ons_value_id id, ons_buffer_id buffer, uint32_t position) {
    f->l->buffer_of_value[id] = buffer;
    extend(&f->l->buffers[buffer], position);
    extend(&f->l->buffers[buffer], f->last_read[id]);
    keep_from_backward(f, &f->l->buffers[buffer]);
    if (f->o->stays == NULL) return;
    /* What leaves in a backward part waits for it, as if a node read it there. */
    uint32_t backward = ons_execution_order_backward(f->execution_order);
    if (position < backward && f->o->stays[id] > backward)
        extend(&f->l->buffers[buffer], leaving_part_begin(f->execution_order, f->o->stays[id]));
    if (f->o->stays[id] <= f->l->buffers[buffer].last) return;
    f->l->buffers[buffer].last = f->o->stays[id];
}

static void place_output(finder *f, const ons_node *node, uint32_t index, uint32_t position) {
    ons_value_id id = node->outputs[index];
    for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias) {
        if (alias->output != index) continue;
        bool forced = alias->kind == ONS_ALIAS_VIEW || alias->kind == ONS_ALIAS_STATE;
        if (forced || may_take(f, node, alias, position)) {
            place_value(f, id, f->l->buffer_of_value[node->inputs[alias->input]], position);
            return;
        }
    }
    ons_buffer buffer = {
        .bytes = ons_registry_type_bytes(f->registry, &ons_graph_value(f->graph, id)->type),
        .first = position,
        .last = position,
        .owner = id,
    };
    place_value(f, id, add_buffer(f, buffer), position);
}

static int64_t held_bytes(const finder *f, ons_value_id id) {
    const ons_type *type = &ons_graph_value(f->graph, id)->type;
    bool all = f->o->held_elements == NULL || f->o->held_elements[id] < 0;
    return all ? ons_registry_type_bytes(f->registry, type)
               : f->o->held_elements[id] * (int64_t)ons_dtype_size(type->dtype);
}

/* Values that no node makes. Inputs are there from the first node of the micro-batch on. */
static void place_sources(finder *f) {
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(f->graph, id);
        if (value->producer != ONS_NONE) continue;
        ons_buffer buffer = {
            .bytes = held_bytes(f, id),
            .persistent = ons_is_persistent(value),
            .owner = id,
        };
        if (!buffer.persistent && f->o->arrives != NULL) buffer.first = buffer.last = f->o->arrives[id];
        place_value(f, id, add_buffer(f, buffer), buffer.first);
    }
}

static ons_status *check_states(const finder *f) {
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(f->graph, id);
        if (value->pair == ONS_NONE || value->producer == ONS_NONE) continue;
        ONS_CHECK(f->last_read[value->pair] <= f->position[value->producer], ONS_DEFECT,
                  "'%s' is read after it was replaced", ons_graph_value(f->graph, value->pair)->name);
    }
    return NULL;
}

/* A view's readers keep its source alive: carried back before anything takes a place. */
static void carry_back_views(finder *f) {
    for (uint32_t position = f->execution_order->count; position-- > 0;) {
        const ons_node *node = ons_graph_node(f->graph, f->execution_order->nodes[position]);
        for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias) {
            if (alias->kind != ONS_ALIAS_VIEW || node->outputs[alias->output] == ONS_NONE) continue;
            uint32_t *source = &f->last_read[node->inputs[alias->input]];
            uint32_t view = f->last_read[node->outputs[alias->output]];
            *source = view > *source ? view : *source;
        }
    }
}

static ons_buffer_id add_scratch(finder *f, int64_t bytes, uint32_t position) {
    uint32_t first = f->o->scratch_first != NULL ? f->o->scratch_first[position] : position;
    uint32_t last = f->o->scratch_last != NULL ? f->o->scratch_last[position] : position;
    if (f->o->scratch_stays != NULL && f->o->scratch_stays[position] > last) last = f->o->scratch_stays[position];
    return add_buffer(f, (ons_buffer){bytes, first, last, last, false, ONS_NONE});
}

static void add_scratch_of_parts(finder *f) {
    const ons_execution_order *s = f->execution_order;
    for (ons_part part = ONS_PART_BEGIN; part <= ons_part_last(s->chunks); ++part) {
        uint32_t begin = ons_execution_order_begin(s, part), end = s->end[part];
        int64_t bytes = f->o->part_bytes != NULL ? f->o->part_bytes[part] : 0;
        f->l->scratch_of_part[part] = bytes > 0 && begin < end
                                          ? add_buffer(f, (ons_buffer){bytes, begin, end - 1, end - 1, false, ONS_NONE})
                                          : ONS_NONE;
    }
}

ons_status *ons_liveness_find(const ons_liveness_options *o, ons_arena *arena, ons_liveness *l) {
    const ons_graph *graph = o->graph;
    const ons_execution_order *execution_order = o->execution_order;
    const int64_t *scratch_bytes = o->scratch_bytes;
    finder f = {.o = o, .graph = graph, .registry = o->registry, .execution_order = execution_order, .l = l};
    *l = (ons_liveness){0};
    uint32_t parts = ons_part_count(execution_order->chunks);
    ONS_NEW(l->buffers, arena, graph->values.count + graph->nodes.count + parts + 1);
    ONS_NEW(l->scratch_of_part, arena, parts);
    ONS_NEW(l->buffer_of_value, arena, graph->values.count + 1);
    ONS_NEW(l->scratch_of_node, arena, graph->nodes.count + 1);
    ONS_NEW(f.last_read, arena, graph->values.count + 1);
    ONS_NEW(f.position, arena, graph->nodes.count + 1);
    ONS_NEW(f.weight, arena, graph->values.count + 1);
    ONS_NEW(f.either, arena, graph->values.count + 1);
    for (uint32_t i = 0; i < execution_order->count; ++i) f.position[execution_order->nodes[i]] = i;
    for (size_t i = 0; i < graph->values.count; ++i) l->buffer_of_value[i] = ONS_NONE;
    for (size_t i = 0; i < graph->nodes.count; ++i) l->scratch_of_node[i] = ONS_NONE;
    find_last_reads(&f);
    ONS_TRY(check_states(&f));
    for (size_t i = 0; i < o->kept_count; ++i)
        if (o->kept[i] != ONS_NONE) f.last_read[o->kept[i]] = execution_order->count;
    carry_back_views(&f);
    keep_until_either(&f);
    place_sources(&f);
    for (uint32_t position = 0; position < execution_order->count; ++position) {
        ons_node_id id = execution_order->nodes[position];
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) place_output(&f, node, i, position);
        if (scratch_bytes != NULL && scratch_bytes[id] > 0)
            l->scratch_of_node[id] = add_scratch(&f, scratch_bytes[id], position);
    }
    add_scratch_of_parts(&f);
    return NULL;
}
