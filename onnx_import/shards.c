/* Weights that are asked for in shards: parameters of their own, side by side again by a node in front of the file's.
 * What it is cut along decides whether the store refers to the file's bytes, or has copies. */
#include <stdlib.h>
#include <string.h>

#include "onnx_import/importer.h"

static const ons_shard_request *find_request(const importer *in, const char *name) {
    for (size_t i = 0; i < in->options->shard_count; ++i)
        if (strcmp(in->options->shards[i].name, name) == 0) return &in->options->shards[i];
    return NULL;
}

int64_t ons_shard_begin(int64_t entries, uint32_t shards, uint32_t shard) {
    return entries / shards * shard + (shard < entries % shards ? shard : entries % shards);
}

/* --------------------------------------------------------------------------------------------------------- contents */

/* A tensor of outer rows, each of `entries` entries of `entry` bytes along the axis. */
typedef struct rows {
    int64_t outer, entries;
    size_t entry;
} rows;

static rows rows_of(const ons_type *type, uint32_t axis) {
    return (rows){ons_shape_span(&type->shape, 0, axis), type->shape.dims[axis],
                  (size_t)ons_shape_span(&type->shape, axis + 1, type->shape.rank) * ons_dtype_size(type->dtype)};
}

/* Copies entries [begin, begin + count) of each row out of the whole, or into it. */
static void copy_entries(rows r, int64_t begin, int64_t count, char *whole, char *part, bool out) {
    for (int64_t i = 0; i < r.outer; ++i) {
        char *at = whole + (size_t)(i * r.entries + begin) * r.entry, *own = part + (size_t)(i * count) * r.entry;
        memcpy(out ? own : at, out ? at : own, (size_t)count * r.entry);
    }
}

static ons_status *cut(ons_store *store, const ons_tensor *whole, uint32_t axis, int64_t begin, const ons_type *type,
                       ons_data_id *data) {
    rows r = rows_of(&whole->type, axis);
    char *bytes = (char *)whole->data; /* is read alone */
    if (bytes == NULL) return ons_store_refer(store, type, NULL, data);
    if (r.outer == 1) return ons_store_refer(store, type, bytes + (size_t)begin * r.entry, data);
    void *own;
    ONS_TRY(ons_store_add(store, type, &own, data));
    copy_entries(r, begin, type->shape.dims[axis], bytes, own, true);
    return NULL;
}

void ons_sharded_put(const ons_sharded *sharded, uint32_t shard, const void *contents, void *whole) {
    rows r = rows_of(&sharded->type, sharded->axis);
    int64_t begin = ons_shard_begin(r.entries, sharded->shards, shard);
    int64_t end = ons_shard_begin(r.entries, sharded->shards, shard + 1);
    copy_entries(r, begin, end - begin, whole, (char *)contents, false);
}

/* -------------------------------------------------------------------------------------------------------- the graph */

static ons_status *add_part(scope *s, ons_value_id id, const ons_sharded *sharded, uint32_t shard, ons_value_id *part) {
    const ons_tensor whole = *ons_store_get(s->graph->store, ons_graph_value(s->graph, id)->data);
    int64_t entries = sharded->type.shape.dims[sharded->axis];
    int64_t begin = ons_shard_begin(entries, sharded->shards, shard);
    ons_type type = sharded->type;
    ons_data_id data;
    const char *name;
    type.shape.dims[sharded->axis] = ons_shard_begin(entries, sharded->shards, shard + 1) - begin;
    ONS_TRY(cut(s->graph->store, &whole, sharded->axis, begin, &type, &data));
    ONS_FORMAT(name, s->graph->arena, "%s/shard%u", sharded->name, shard);
    ONS_TRY(ons_graph_add_value(s->graph, name, ONS_PARAMETER, &type, part));
    const ons_value *old = ons_graph_value(s->graph, id);
    ons_value *fresh = ons_graph_value(s->graph, *part);
    fresh->data = data;
    fresh->reason = old->reason;
    fresh->origin = old->origin;
    fresh->parameter = old->parameter;
    fresh->shard = shard + 1;
    fresh->whole = sharded->name;
    ONS_PUSH(&s->in->initialisers, *part);
    const char *kept = ons_arena_copy_text(s->in->file->arena, fresh->name);
    if (kept == NULL) return ons_status_out_of_memory();
    sharded->parts[shard] = kept;
    return NULL;
}

static ons_status *add_concat(scope *s, ons_value_id id, uint32_t axis, const ons_value_id *parts, uint32_t count) {
    const ons_operator *op = ons_registry_role(s->in->registry, ONS_ROLE_CONCAT);
    ons_attribute *attributes;
    const char *name;
    ons_node_id node;
    ONS_CHECK(op != NULL, ONS_DEFECT, "no operator puts shards side by side");
    ONS_NEW(attributes, s->graph->arena, 1);
    attributes[0] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = axis};
    ONS_FORMAT(name, s->graph->arena, "%s/joined", ons_graph_value(s->graph, id)->name);
    ons_import_make_activation(s, id);
    ONS_TRY(ons_import_add_node(s, op, name, attributes, parts, count, 1, ONS_NO_FILE_NODE, &node));
    ons_graph_set_output(s->graph, node, 0, id);
    return NULL;
}

static ons_status *shard(scope *s, ons_value_id id, const ons_shard_request *request) {
    const ons_value *value = ons_graph_value(s->graph, id);
    ons_arena *arena = s->in->file->arena;
    ons_sharded sharded = {.name = ons_arena_copy_text(arena, value->name),
                           .type = value->type,
                           .axis = request->axis,
                           .shards = request->shards};
    ons_value_id *parts;
    if (sharded.name == NULL) return ons_status_out_of_memory();
    ONS_CHECK(value->kind == ONS_PARAMETER && request->axis < value->type.shape.rank && request->shards > 0 &&
                  value->type.shape.dims[request->axis] >= request->shards,
              ONS_DEFECT, "'%s' has no axis %u for %u shards", value->name, request->axis, request->shards);
    ONS_NEW(sharded.parts, arena, sharded.shards);
    ONS_NEW(parts, s->graph->arena, sharded.shards);
    for (uint32_t i = 0; i < sharded.shards; ++i) ONS_TRY(add_part(s, id, &sharded, i, &parts[i]));
    ONS_TRY(add_concat(s, id, sharded.axis, parts, sharded.shards));
    ONS_PUSH(&s->in->file->sharded, sharded);
    return NULL;
}

/* Nodes from `first` on come before the others, which may read what they make. None is from the file so far. */
static ons_status *move_to_front(ons_graph *graph, size_t first) {
    size_t count = graph->nodes.count;
    ons_node *moved;
    ONS_NEW(moved, graph->arena, count + 1);
    for (size_t i = 0; i < count; ++i) moved[i] = graph->nodes.items[(i + first) % count];
    for (ons_node_id id = 0; id < count; ++id) {
        ons_node *node = &graph->nodes.items[id];
        *node = moved[id];
        node->origin = (ons_node_id)((node->origin + count - first) % count);
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) ons_graph_value(graph, node->outputs[i])->producer = id;
        ONS_TRY(ons_map_set(&graph->node_names, node->name, id));
    }
    return NULL;
}

ons_status *ons_shards_import(scope *s) {
    size_t first = s->graph->nodes.count;
    size_t count = s->in->initialisers.count; /* what is added behind is no whole one */
    for (size_t i = 0; i < count;) {
        ons_value_id id = s->in->initialisers.items[i];
        const ons_shard_request *request = find_request(s->in, ons_graph_value(s->graph, id)->name);
        if (request != NULL) {
            ONS_TRY(shard(s, id, request));
            --count; /* it is an initialiser no more */
        } else {
            ++i;
        }
    }
    return s->graph->nodes.count == first ? NULL : move_to_front(s->graph, first);
}

size_t ons_sharded_count(const ons_model_file *file) { return file->sharded.count; }

const ons_sharded *ons_sharded_at(const ons_model_file *file, size_t index) { return &file->sharded.items[index]; }

const ons_sharded *ons_sharded_find(const ons_model_file *file, const char *name) {
    for (size_t i = 0; i < file->sharded.count; ++i)
        if (strcmp(file->sharded.items[i].name, name) == 0) return &file->sharded.items[i];
    return NULL;
}
