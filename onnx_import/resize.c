#include "onnx_import/resize.h"

#include <string.h>

#include "onnx_import/exporter.h"

enum { GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_VALUE_INFO = 13 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, VALUE_NAME = 1, DIMENSION_VALUE = 1 };

static bool has_name(const ons_model_file *file, const ons_frame *frame, uint32_t number, const char *name) {
    size_t size = strlen(name);
    bool same = false;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ons_status *status = ons_wire_next(file->bytes, &at, frame->end, &field);
        if (status != NULL) { /* not reached: the file was scanned */
            ons_status_free(status);
            return false;
        }
        if (field.number == number && field.wire_type == ONS_WIRE_BYTES)
            same = field.end - field.begin == size && memcmp(file->bytes + field.begin, name, size) == 0;
    }
    return same;
}

/* What a tensor holds beside its contents: name, type, texts. */
static bool is_kept(uint32_t number) {
    enum { DOC = 12, METADATA = 16 };
    return number == TENSOR_TYPE || number == TENSOR_NAME || number == DOC || number >= METADATA;
}

static ons_status *replace_contents(exporter *e, uint32_t index, const ons_tensor *fresh, message *m) {
    const ons_frame *frame = &e->file->frames.items[index];
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (!is_kept(field.number)) ONS_TRY(ons_splice_out(e, field.tag_at, field.end, index));
    }
    size_t bytes = (size_t)ons_type_dense_bytes(&fresh->type);
    for (uint32_t i = 0; i < fresh->type.shape.rank; ++i)
        ONS_TRY(ons_put_integer(m, TENSOR_DIMS, (uint64_t)fresh->type.shape.dims[i]));
    ONS_TRY(ons_put_header(m, TENSOR_RAW, bytes));
    ONS_TRY(ons_put_bytes(m, fresh->data, bytes));
    return ons_splice_message(e, frame->end, 0, index, m);
}

/* The frame of the value's description that a frame inside of it belongs to: a dimension lies four levels below. */
static uint32_t ancestor(const ons_model_file *file, uint32_t index, uint32_t levels) {
    for (; levels > 0 && index != ONS_NO_FRAME; --levels) index = file->frames.items[index].parent;
    return index;
}

static ons_status *replace_size(exporter *e, uint32_t description, uint32_t axis, int64_t size, message *m) {
    enum { DIMENSION_DEPTH = 4 };
    const ons_frames *frames = &e->file->frames;
    uint32_t number = 0;
    for (uint32_t i = description + 1; i < frames->count; ++i) {
        const ons_frame *frame = &frames->items[i];
        if (frame->type != &onnx__tensor_shape_proto__dimension__descriptor ||
            ancestor(e->file, i, DIMENSION_DEPTH) != description || number++ != axis)
            continue;
        ONS_TRY(ons_put_integer(m, DIMENSION_VALUE, (uint64_t)size));
        return ons_splice_message(e, frame->begin, frame->end - frame->begin, i, m);
    }
    return NULL;
}

static bool describes_value(uint32_t number) {
    return number == GRAPH_INPUT || number == GRAPH_OUTPUT || number == GRAPH_VALUE_INFO;
}

static ons_status *resize(exporter *e, const ons_resized *resized, message *m) {
    uint32_t graph = ons_graph_frame(e->file);
    bool initialiser = resized->contents.data != NULL, found = !initialiser;
    for (uint32_t i = graph + 1; i < e->file->frames.count; ++i) {
        const ons_frame *frame = &e->file->frames.items[i];
        if (frame->parent != graph) continue;
        if (initialiser && frame->number == GRAPH_INITIALIZER && has_name(e->file, frame, TENSOR_NAME, resized->name)) {
            ONS_TRY(replace_contents(e, i, &resized->contents, m));
            found = true;
        } else if (describes_value(frame->number) && has_name(e->file, frame, VALUE_NAME, resized->name)) {
            ONS_TRY(replace_size(e, i, resized->axis, resized->size, m));
        }
    }
    ONS_CHECK(found, ONS_UNSUPPORTED, "the file has no initialiser '%s'", resized->name);
    return NULL;
}

static ons_status *copy_resized(exporter *e, const ons_resized *resized, size_t count, ons_model_file **result) {
    message m = {0};
    ons_status *status = NULL;
    for (size_t i = 0; i < count && status == NULL; ++i) status = resize(e, &resized[i], &m);
    ons_vector_free(&m);
    ONS_TRY(status);
    uint8_t *copy;
    uint64_t size;
    ONS_TRY(ons_splice_to_memory(e->file->bytes, &e->file->frames, &e->splices, &copy, &size));
    return ons_model_file_adopt(e->file, copy, size, result);
}

ons_status *ons_model_file_resize(ons_model_file *file, const ons_resized *resized, size_t count,
                                  ons_model_file **result) {
    exporter e = {.file = file, .arena = ons_arena_new()};
    ons_status *status = e.arena == NULL ? ons_status_out_of_memory() : copy_resized(&e, resized, count, result);
    ons_vector_free(&e.splices);
    ons_arena_free(e.arena);
    return status;
}
