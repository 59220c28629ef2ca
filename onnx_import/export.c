#include "onnx_import/export.h"

#include <stdlib.h>
#include <string.h>

#include "onnx_import/data_file.h"
#include "onnx_import/exporter.h"
#include "onnx_import/stated.h"

enum { CHUNK_BYTES = 1 << 20, MODEL_GRAPH = 7 };

/* --------------------------------------------------------------------------------------------------------- protobuf */

ons_status *ons_put_bytes(message *m, const void *bytes, size_t size) {
    if (!ons_vector_reserve(m, size)) return ons_status_out_of_memory();
    if (size > 0) memcpy(m->items + m->count, bytes, size);
    m->count += size;
    return NULL;
}

ons_status *ons_put_varint(message *m, uint64_t value) {
    uint8_t bytes[ONS_VARINT_MAX];
    return ons_put_bytes(m, bytes, ons_varint_write(value, bytes));
}

ons_status *ons_put_header(message *m, uint32_t number, uint64_t size) {
    ONS_TRY(ons_put_varint(m, (uint64_t)number << 3 | ONS_WIRE_BYTES));
    return ons_put_varint(m, size);
}

ons_status *ons_put_text(message *m, uint32_t number, const char *text) {
    ONS_TRY(ons_put_header(m, number, strlen(text)));
    return ons_put_bytes(m, text, strlen(text));
}

ons_status *ons_put_integer(message *m, uint32_t number, uint64_t value) {
    ONS_TRY(ons_put_varint(m, (uint64_t)number << 3 | ONS_WIRE_VARINT));
    return ons_put_varint(m, value);
}

ons_status *ons_splice_message(exporter *e, uint64_t at, uint64_t removed, uint32_t frame, message *m) {
    uint8_t *copy;
    ONS_NEW(copy, e->arena, m->count + 1);
    if (m->count > 0) memcpy(copy, m->items, m->count);
    ONS_PUSH(&e->splices, (ons_splice){at, removed, frame, m->count, copy, 0});
    m->count = 0;
    return NULL;
}

ons_status *ons_splice_out(exporter *e, uint64_t begin, uint64_t end, uint32_t frame) {
    ONS_PUSH(&e->splices, (ons_splice){begin, end - begin, frame, 0, "", 0});
    return NULL;
}

uint32_t ons_graph_frame(const ons_model_file *file) {
    for (uint32_t i = 1; i < file->frames.count; ++i)
        if (file->frames.items[i].parent == 0 && file->frames.items[i].number == MODEL_GRAPH) return i;
    return 0; /* not reached: a file without a graph does not open */
}

/* ------------------------------------------------------------------------------------------------- list of splices */

static bool is_initialiser(const ons_model_file *file, const char *name) {
    if (ons_stated_find(file, name) != NULL) return true;
    for (size_t i = 0; i < ons_untied_count(file); ++i)
        if (strcmp(ons_untied_at(file, i).name, name) == 0) return true;
    for (size_t i = 0; i < file->model->graph->n_initializer; ++i)
        if (strcmp(ons_text(file->model->graph->initializer[i]->name), name) == 0) return true;
    return false;
}

static ons_status *note_changed(exporter *e) {
    for (size_t i = 0; i < e->options->changed_count; ++i) {
        const char *name = e->options->changed[i];
        ONS_CHECK(is_initialiser(e->file, name), ONS_INVALID_ARGUMENT, "the model has no initialiser '%s'", name);
        ONS_TRY(ons_map_set(&e->changed, name, 0));
    }
    return NULL;
}

/* All that differs from the file that was imported, and how large the model file gets by it. */
static ons_status *list_splices(exporter *e, uint64_t *size) {
    e->splices.count = e->fills.count = e->data.count = 0;
    e->data_size = 0;
    ONS_TRY(ons_export_tensors(e));
    ONS_TRY(ons_export_stated(e));
    ONS_TRY(ons_export_untied_nodes(e));
    if (e->options->inference) ONS_TRY(ons_export_inference_nodes(e));
    if (e->options->cut != NULL) ONS_TRY(ons_export_cut(e));
    return ons_splice_copy(e->file->bytes, &e->file->frames, &e->splices, NULL, size);
}

static uint64_t or_largest_message(uint64_t bytes) { return bytes == 0 ? INT32_MAX : bytes; }

/* Lists them once more, with large tensors outside, where the result would be too large for protobuf. */
static ons_status *list_splices_within_limits(exporter *e) {
    uint64_t spill = or_largest_message(e->options->spill_above), most = or_largest_message(e->options->refuse_above);
    uint64_t size;
    ONS_TRY(list_splices(e, &size));
    if (size > spill || size > most) {
        e->spills = true;
        ONS_TRY(list_splices(e, &size));
    }
    ONS_CHECK(size <= most, ONS_UNSUPPORTED,
              "the model takes %llu bytes even with its weights in another file; ONNX files can hold %llu",
              (unsigned long long)size, (unsigned long long)most);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

typedef struct output {
    exporter *exporter;
    ons_file_writer *writer;
    uint8_t *chunk; /* CHUNK_BYTES */
} output;

static ons_status *write_bytes(void *context, const void *bytes, size_t size) {
    return ons_file_write(((output *)context)->writer, bytes, size);
}

/* From the reader, a chunk at a time. */
static ons_status *write_from_reader(output *o, const content *from) {
    const ons_export_options *options = o->exporter->options;
    for (uint64_t at = 0; at < from->size;) {
        size_t size = from->size - at < CHUNK_BYTES ? (size_t)(from->size - at) : CHUNK_BYTES;
        ONS_TRY(options->read(options->context, from->reader, (int64_t)at, o->chunk, size));
        ONS_TRY(ons_file_write(o->writer, o->chunk, size));
        at += size;
    }
    return NULL;
}

/* A tensor in one of the encodings that must be converted: rare, and held whole for a moment. */
static ons_status *write_decoded(output *o, const content *from) {
    void *data = malloc((size_t)from->size + 1);
    if (data == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_tensor_decode(o->exporter->file, from->tensor, &from->type, data);
    if (status == NULL) status = ons_file_write(o->writer, data, (size_t)from->size);
    free(data);
    return status;
}

static ons_status *write_content(output *o, const content *from) {
    if (from->reader != NULL) return write_from_reader(o, from);
    if (from->bytes != NULL) return ons_file_write(o->writer, from->bytes, (size_t)from->size);
    return write_decoded(o, from);
}

static ons_status *fill(void *context, uint32_t number, uint64_t size) {
    output *o = context;
    return write_content(o, &o->exporter->fills.items[number]);
}

static ons_status *write_data(output *o) {
    static const uint8_t zeros[4096];
    for (size_t i = 0; i < o->exporter->data.count; ++i) {
        const content *each = &o->exporter->data.items[i];
        ONS_TRY(ons_file_write(o->writer, zeros, (size_t)(each->offset - ons_file_position(o->writer))));
        ONS_TRY(write_content(o, each));
    }
    return ons_file_sync(o->writer);
}

static ons_status *write_model(output *o) {
    exporter *e = o->exporter;
    uint64_t size;
    ons_splice_sink sink = {.context = o, .write = write_bytes, .fill = fill};
    ONS_TRY(ons_splice_copy(e->file->bytes, &e->file->frames, &e->splices, &sink, &size));
    return ons_file_sync(o->writer);
}

/* Both files are complete on the disk before either gets its name; the data comes first. */
static ons_status *write_files(exporter *e, const char *path, const ons_data_file *file, uint8_t *chunk) {
    output model = {.exporter = e, .chunk = chunk}, data = {.exporter = e, .chunk = chunk};
    ons_status *status = ons_file_writer_open(path, &model.writer);
    if (status == NULL && e->data.count > 0) status = ons_file_writer_open(file->path, &data.writer);
    if (status == NULL && data.writer != NULL) status = write_data(&data);
    if (status == NULL) status = write_model(&model);
    if (status == NULL && data.writer != NULL) {
        status = ons_file_commit(data.writer);
        data.writer = NULL;
    }
    if (status == NULL) {
        status = ons_file_commit(model.writer);
        model.writer = NULL;
    }
    ons_file_discard(data.writer);
    ons_file_discard(model.writer);
    return status;
}

static ons_status *export_beside(exporter *e, const char *path, const ons_data_file *file) {
    e->location = file->location;
    ONS_TRY_AT(note_changed(e), "%s", e->file->path);
    ONS_TRY_AT(list_splices_within_limits(e), "%s", e->file->path);
    uint8_t *chunk = malloc(CHUNK_BYTES);
    if (chunk == NULL) return ons_status_out_of_memory();
    ons_status *status = write_files(e, path, file, chunk);
    free(chunk);
    return status;
}

static ons_status *export_to(exporter *e, const char *path) {
    ons_data_file file;
    ONS_TRY(ons_data_file_choose(path, e->arena, &file));
    ons_status *status = export_beside(e, path, &file);
    if (status == NULL) ons_data_file_retire(&file);
    ons_vector_free(&file.former);
    return status;
}

ons_status *ons_export(ons_model_file *file, const char *path, const ons_export_options *options) {
    ONS_CHECK(options->changed_count == 0 || options->read != NULL, ONS_INVALID_ARGUMENT,
              "an export with new contents needs somebody to give them");
    ONS_CHECK(!options->inference || options->registry != NULL, ONS_INVALID_ARGUMENT,
              "an export in inference form needs the operators");
    ONS_TRY(ons_model_file_check(file));
    exporter e = {.file = file, .options = options, .arena = ons_arena_new()};
    if (e.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = export_to(&e, path);
    ons_map_free(&e.changed);
    ons_vector_free(&e.splices);
    ons_vector_free(&e.fills);
    ons_vector_free(&e.data);
    ons_arena_free(e.arena);
    return status;
}
