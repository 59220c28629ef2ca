#include "onnx_import/model_file.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_kind.h"
#include "onnx_import/model_parts.h"
#include "onnx_import/newer.h"
#include "onnx_import/splice.h"

/* --------------------------------------------------------------------------------------------------------- skeleton */

/* A field that we add to every tensor of the skeleton: its number among the file's tensors. No schema uses the highest
 * possible field number. */
enum { PLACE_FIELD = 536870911, PLACE_TAG_BYTES = 5, PLACE_BYTES = PLACE_TAG_BYTES + 4 };

static bool is_payload(uint32_t number) {
    return number == 4 || number == 5 || number == 7 || number == 9 || number == 10 || number == 11;
}

/* What the skeleton does without: the payload, where it is large and in one piece, and what looks like our own field.
 */
static ons_status *elide_payload(ons_model_file *file, ons_tensor_place *place, ons_splices *splices) {
    const ons_frame *frame = &file->frames.items[place->frame];
    ons_wire_field payload = {0};
    int pieces = 0;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(file->bytes, &at, frame->end, &field));
        if (field.number == PLACE_FIELD)
            ONS_PUSH(splices, (ons_splice){field.tag_at, field.end - field.tag_at, place->frame, 0, "", 0});
        if (!is_payload(field.number)) continue;
        payload = field;
        ++pieces;
    }
    if (pieces != 1 || payload.wire_type != ONS_WIRE_BYTES || payload.end - payload.begin <= ONS_SKELETON_PAYLOAD_MAX)
        return NULL;
    place->elided = payload.number;
    place->begin = payload.begin;
    place->end = payload.end;
    ONS_PUSH(splices, (ons_splice){payload.tag_at, payload.end - payload.tag_at, place->frame, 0, "", 0});
    return NULL;
}

static ons_status *find_tensors(ons_model_file *file, ons_splices *splices) {
    for (uint32_t i = 0; i < file->frames.count; ++i) {
        if (file->frames.items[i].type != &onnx__tensor_proto__descriptor) continue;
        ons_tensor_place place = {.frame = i};
        ONS_TRY(elide_payload(file, &place, splices));
        ONS_PUSH(&file->tensors, place);
    }
    return NULL;
}

static ons_status *mark_tensors(ons_model_file *file, ons_splices *splices, uint8_t *marks) {
    for (uint32_t i = 0; i < file->tensors.count; ++i) {
        uint8_t *mark = marks + (size_t)i * PLACE_BYTES;
        uint8_t tag[ONS_VARINT_MAX];
        ons_varint_write((uint64_t)PLACE_FIELD << 3 | ONS_WIRE_32_BIT, tag);
        memcpy(mark, tag, PLACE_TAG_BYTES);
        memcpy(mark + PLACE_TAG_BYTES, &i, 4);
        uint32_t frame = file->tensors.items[i].frame;
        ONS_PUSH(splices, (ons_splice){file->frames.items[frame].end, 0, frame, PLACE_BYTES, mark, 0});
    }
    return NULL;
}

/* protobuf-c says no more than that it failed: whether for want of memory, its allocator knows. */
static void *allocate(void *short_of_memory, size_t size) {
    void *memory = malloc(size);
    if (memory == NULL) *(bool *)short_of_memory = true;
    return memory;
}

static void release(void *unused, void *memory) { free(memory); }

static ons_status *unpack_model(size_t size, const uint8_t *bytes, Onnx__ModelProto **model) {
    bool short_of_memory = false;
    ProtobufCAllocator allocator = {allocate, release, &short_of_memory};
    *model = onnx__model_proto__unpack(&allocator, size, bytes);
    if (short_of_memory) return ons_status_out_of_memory();
    ONS_CHECK(*model != NULL, ONS_INVALID_MODEL, "the file is damaged, or is not an ONNX model");
    return NULL;
}

/* Copies and unpacks; the copy lives in between alone. */
static ons_status *unpack(ons_model_file *file, ons_splices *splices) {
    uint8_t *skeleton;
    uint64_t size;
    ONS_TRY(ons_splice_to_memory(file->bytes, &file->frames, splices, &skeleton, &size));
    ons_status *status = NULL;
    if (size >= INT_MAX)
        status = ons_status_new(ONS_INVALID_MODEL,
                                "the model without its weights takes %llu bytes, more than ONNX files can hold",
                                (unsigned long long)size);
    if (status == NULL) status = unpack_model((size_t)size, skeleton, &file->model);
    free(skeleton);
    return status;
}

static ons_status *build_skeleton(ons_model_file *file) {
    ons_splices splices = {0};
    uint8_t *marks = NULL;
    ons_status *status = find_tensors(file, &splices);
    if (status == NULL) {
        marks = malloc(file->tensors.count * PLACE_BYTES + 1);
        status = marks == NULL ? ons_status_out_of_memory() : mark_tensors(file, &splices, marks);
    }
    if (status == NULL) status = unpack(file, &splices);
    ons_vector_free(&splices);
    free(marks);
    return status;
}

/* --------------------------------------------------------------------------------------------------- open and close */

/* Where the file is known to be another kind of file, that says more than the byte at which it is no model. */
static ons_status *name_kind(const ons_model_file *file, ons_status *status) {
    const ons_file_kind *kind =
        ons_status_get_code(status) == ONS_INVALID_MODEL ? ons_file_kind_find(file->bytes, file->size) : NULL;
    if (kind == NULL) return status;
    ons_status_free(status);
    return ons_status_new(ONS_INVALID_MODEL, "this is %s, not an ONNX model; %s", kind->what, kind->remedy);
}

static ons_status *load_model(ons_model_file *file) {
    ONS_CHECK(file->size > 0, ONS_INVALID_MODEL, "the file is empty");
    ONS_TRY(ons_wire_scan(file->bytes, file->size, &onnx__model_proto__descriptor, &file->frames));
    ONS_TRY(build_skeleton(file));
    ONS_CHECK(file->model->graph != NULL, ONS_INVALID_MODEL,
              "the file holds no graph; it is no ONNX model, or damaged");
    return NULL;
}

static ons_status *load(ons_model_file *file) { return name_kind(file, load_model(file)); }

static ons_status *new_file(const char *path, ons_model_file **result) {
    ons_model_file *file = calloc(1, sizeof *file);
    if (file == NULL) return ons_status_out_of_memory();
    file->path = strdup(path);
    file->arena = ons_arena_new();
    *result = file;
    return file->path == NULL || file->arena == NULL ? ons_status_out_of_memory() : NULL;
}

/* The folder of the path as given: a link to a model elsewhere has its data beside the link. */
static ons_status *find_folder(ons_model_file *file) {
    char *copy = strdup(file->path);
    if (copy == NULL) return ons_status_out_of_memory();
    file->folder = realpath(dirname(copy), NULL);
    int reason = errno;
    free(copy);
    return file->folder != NULL ? NULL : ons_status_system(reason, "cannot find the folder of the model");
}

static ons_status *open_path(ons_model_file *file) {
    ONS_TRY(ons_mapping_open(file->path, &file->mapping));
    file->bytes = file->mapping.bytes;
    file->size = file->mapping.size;
    ONS_TRY_AT(find_folder(file), "%s", file->path);
    return ons_status_at(load(file), "%s", file->path);
}

static ons_status *open_bytes(ons_model_file *file, const void *bytes, size_t size) {
    file->bytes = bytes;
    file->size = size;
    return load(file);
}

/* What an opened file ends with: it is handed out, or closed. */
static ons_status *hand_out(ons_model_file *file, ons_status *status, ons_model_file **result) {
    if (status == NULL)
        *result = file;
    else
        ons_model_file_close(file);
    return status;
}

ons_status *ons_model_file_open(const char *path, ons_model_file **result) {
    ons_model_file *file = NULL;
    ons_status *status = new_file(path, &file);
    if (status == NULL) status = open_path(file);
    return hand_out(file, status, result);
}

ons_status *ons_model_file_open_memory(const void *bytes, size_t size, ons_model_file **result) {
    ons_model_file *file = NULL;
    ons_status *status = new_file("memory", &file);
    if (status == NULL) status = open_bytes(file, bytes, size);
    return hand_out(file, status, result);
}

static ons_status *adopt(ons_model_file *file, const ons_model_file *place, uint64_t size) {
    if (place->folder != NULL && (file->folder = strdup(place->folder)) == NULL) return ons_status_out_of_memory();
    return open_bytes(file, file->own, (size_t)size);
}

ons_status *ons_model_file_adopt(const ons_model_file *place, uint8_t *bytes, uint64_t size, ons_model_file **result) {
    ons_model_file *file = NULL;
    ons_status *status = new_file(place->path, &file);
    if (file == NULL)
        free(bytes);
    else
        file->own = bytes;
    if (status == NULL) status = ons_status_at(adopt(file, place, size), "%s", place->path);
    return hand_out(file, status, result);
}

void ons_model_file_close(ons_model_file *file) {
    if (file == NULL) return;
    for (size_t i = 0; i < file->branches.count; ++i) ons_graph_free(file->branches.items[i]);
    ons_vector_free(&file->branches);
    for (size_t i = 0; i < file->externals.count; ++i) {
        ons_mapping_close(&file->externals.items[i].mapping);
        free(file->externals.items[i].location);
    }
    ons_vector_free(&file->externals);
    ons_map_free(&file->external_names);
    for (size_t i = 0; i < file->attributes.count; ++i)
        onnx__attribute_proto__free_unpacked(file->attributes.items[i], NULL);
    ons_vector_free(&file->attributes);
    ons_vector_free(&file->untied);
    ons_vector_free(&file->derived);
    ons_vector_free(&file->sharded);
    ons_vector_free(&file->unclear);
    ons_vector_free(&file->stated);
    ons_map_free(&file->stated_names);
    ons_vector_free(&file->merges);
    ons_vector_free(&file->lost);
    if (file->model != NULL) onnx__model_proto__free_unpacked(file->model, NULL);
    ons_vector_free(&file->tensors);
    ons_vector_free(&file->frames);
    ons_mapping_close(&file->mapping);
    ons_arena_free(file->arena);
    free(file->own);
    free(file->folder);
    free(file->path);
    free(file);
}

/* Payloads are read from the files as they were when they were opened. */
static ons_status *check_external(const ons_model_file *file, const ons_external_file *external) {
    char *path;
    if (asprintf(&path, "%s/%s", file->folder, external->location) < 0) return ons_status_out_of_memory();
    ons_status *status = ons_mapping_check(&external->mapping, path);
    free(path);
    return status;
}

void ons_model_file_give_back(const ons_model_file *file) {
    ons_mapping_give_back(&file->mapping);
    for (size_t i = 0; i < file->externals.count; ++i) ons_mapping_give_back(&file->externals.items[i].mapping);
}

ons_status *ons_model_file_check(const ons_model_file *file) {
    if (file->mapping.bytes != NULL) ONS_TRY(ons_mapping_check(&file->mapping, file->path));
    for (size_t i = 0; i < file->externals.count; ++i) ONS_TRY(check_external(file, &file->externals.items[i]));
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- queries */

void ons_model_file_info(const ons_model_file *file, ons_model_info *info) {
    const Onnx__ModelProto *model = file->model;
    *info = (ons_model_info){
        .ir_version = model->ir_version,
        .producer_name = ons_text(model->producer_name),
        .producer_version = ons_text(model->producer_version),
        .graph_name = ons_text(model->graph->name),
        .node_count = model->graph->n_node,
        .initialiser_count = model->graph->n_initializer,
        .function_count = model->n_functions,
        .bytes = file->size,
    };
    for (size_t i = 0; i < model->n_opset_import; ++i) {
        const char *domain = ons_text(model->opset_import[i]->domain);
        if (domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0) info->opset = model->opset_import[i]->version;
    }
}

/* Whether a node's metadata hold the text, in a key or a value. */
static bool is_marked(const Onnx__NodeProto *node, const char *text) {
    ProtobufCMessage *const *known;
    size_t count;
    bool marked = false;
    if (ons_newer_messages(&node->base, ONS_NODE_METADATA, &known, &count)) {
        for (size_t i = 0; i < count && !marked; ++i) {
            const Onnx__StringStringEntryProto *entry = (const Onnx__StringStringEntryProto *)known[i];
            marked = strstr(ons_text(entry->key), text) != NULL || strstr(ons_text(entry->value), text) != NULL;
        }
        return marked;
    }
    const ProtobufCMessageUnknownField *field = NULL;
    while (!marked && (field = ons_unknown_field(&node->base, ONS_NODE_METADATA, field)) != NULL)
        marked = memmem(field->data, field->len, text, strlen(text)) != NULL;
    return marked;
}

size_t ons_model_file_marked_nodes(const ons_model_file *file, const char *text, const char **first) {
    const Onnx__GraphProto *graph = file->model->graph;
    size_t count = 0;
    *first = "";
    for (size_t i = 0; i < graph->n_node; ++i)
        if (is_marked(graph->node[i], text) && count++ == 0) *first = ons_text(graph->node[i]->name);
    return count;
}

const ons_tensor_place *ons_model_file_place(const ons_model_file *file, const Onnx__TensorProto *tensor) {
    const ProtobufCMessageUnknownField *mark = ons_unknown_field(&tensor->base, PLACE_FIELD, NULL);
    if (mark == NULL || mark->len != 4) return NULL;
    uint32_t index;
    memcpy(&index, mark->data, 4);
    return index < file->tensors.count ? &file->tensors.items[index] : NULL;
}

size_t ons_untied_count(const ons_model_file *file) { return file->untied.count; }

ons_untied ons_untied_at(const ons_model_file *file, size_t index) { return file->untied.items[index].names; }
