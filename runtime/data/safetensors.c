#include "runtime/data/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/vector.h"
#include "runtime/data/checksum.h"

enum { LENGTH_BYTES = 8, HEADER_MAX = 100000000, ALIGNMENT = 64, PIECE = 1 << 20 };

static const struct {
    const char *name;
    ons_dtype dtype;
} dtypes[] = {
    {"F32", ONS_FLOAT32}, {"F64", ONS_FLOAT64}, {"F16", ONS_FLOAT16}, {"BF16", ONS_BFLOAT16}, {"I64", ONS_INT64},
    {"I32", ONS_INT32},   {"I16", ONS_INT16},   {"I8", ONS_INT8},     {"U64", ONS_UINT64},    {"U32", ONS_UINT32},
    {"U16", ONS_UINT16},  {"U8", ONS_UINT8},    {"BOOL", ONS_BOOL},
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static const char *name_of(ons_dtype dtype) {
    for (int i = 0; i < DTYPES; ++i)
        if (dtypes[i].dtype == dtype) return dtypes[i].name;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

typedef ONS_VECTOR(char) text_vector;

static ons_status *append_text(void *context, const void *bytes, size_t size) {
    text_vector *text = context;
    if (!ons_vector_reserve(text, size)) return ons_status_out_of_memory();
    memcpy(text->items + text->count, bytes, size);
    text->count += size;
    return NULL;
}

/* Tensors with wide elements come first, so that each lies at a multiple of its element's size; then by name. */
static int by_width(const void *left, const void *right) {
    const ons_named_tensor *a = left, *b = right;
    size_t wa = ons_dtype_size(a->tensor.type.dtype), wb = ons_dtype_size(b->tensor.type.dtype);
    if (wa != wb) return wa > wb ? -1 : 1;
    return strcmp(a->name, b->name);
}

static ons_status *describe(ons_json_writer *json, const ons_named_tensor *tensor, uint64_t *offset) {
    const ons_type *type = &tensor->tensor.type;
    const char *dtype = name_of(type->dtype);
    ONS_CHECK(dtype != NULL, ONS_UNSUPPORTED, "'%s': %s cannot be saved", tensor->name, ons_dtype_name(type->dtype));
    ons_json_begin_object(json, tensor->name);
    ons_json_put_text(json, "dtype", dtype);
    ons_json_begin_array(json, "shape");
    for (uint32_t i = 0; i < type->shape.rank; ++i) ons_json_put_int(json, NULL, type->shape.dims[i]);
    ons_json_end_array(json);
    ons_json_begin_array(json, "data_offsets");
    ons_json_put_uint64(json, NULL, *offset);
    *offset += (uint64_t)ons_type_dense_bytes(type);
    ons_json_put_uint64(json, NULL, *offset);
    ons_json_end_array(json);
    ons_json_end_object(json);
    return NULL;
}

/* The header with its length in front and blanks behind, up to a multiple of 64. */
static ons_status *make_header(const ons_named_tensor *sorted, size_t count, text_vector *text) {
    ONS_TRY(append_text(text, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES));
    ons_json_writer json;
    ons_json_writer_init(&json, append_text, text);
    ons_json_begin_object(&json, NULL);
    ons_json_begin_object(&json, "__metadata__");
    ons_json_put_text(&json, "format", "onstage");
    ons_json_end_object(&json);
    uint64_t offset = 0;
    ons_status *status = NULL;
    for (size_t i = 0; i < count && status == NULL; ++i) status = describe(&json, &sorted[i], &offset);
    ons_json_end_object(&json);
    ons_status *flushed = ons_json_writer_flush(&json);
    if (status != NULL) {
        ons_status_free(flushed);
        return status;
    }
    ONS_TRY(flushed);
    while (text->count % ALIGNMENT != 0) ONS_PUSH(text, ' ');
    uint64_t length = text->count - LENGTH_BYTES;
    ONS_CHECK(length <= HEADER_MAX, ONS_UNSUPPORTED, "too many tensors for one safetensors file");
    memcpy(text->items, &length, LENGTH_BYTES);
    return NULL;
}

/* A file on its way: what of it is summed stays in its piece until the piece after the next is filled. */
typedef struct output {
    ons_file_writer *writer;
    ons_checksum *checksum;
    const ons_safetensors_content *content;
    unsigned char *pieces[2];
    unsigned next; /* of the two */
} output;

static ons_status *write_bytes(const output *o, const void *bytes, size_t size) {
    ons_checksum_add(o->checksum, bytes, size);
    return ons_file_write(o->writer, bytes, size);
}

static ons_status *write_contents(output *o, const ons_named_tensor *tensor) {
    int64_t size = ons_type_dense_bytes(&tensor->tensor.type);
    for (int64_t offset = 0; offset < size; offset += PIECE) {
        size_t part = (size_t)(size - offset < PIECE ? size - offset : PIECE);
        const unsigned char *bytes = (const unsigned char *)tensor->tensor.data + offset;
        if (tensor->tensor.data == NULL) {
            unsigned char *piece = o->pieces[o->next++ % 2];
            ONS_TRY(o->content->source(o->content->context, tensor->name, offset, piece, part));
            bytes = piece;
        }
        ONS_TRY(write_bytes(o, bytes, part));
    }
    return NULL;
}

static ons_status *write_sorted(output *o, const ons_named_tensor *sorted, text_vector *header) {
    ONS_TRY(make_header(sorted, o->content->count, header));
    ONS_TRY(write_bytes(o, header->items, header->count));
    for (size_t i = 0; i < o->content->count; ++i) ONS_TRY(write_contents(o, &sorted[i]));
    return NULL;
}

ons_status *ons_safetensors_write(ons_file_writer *writer, const ons_safetensors_content *content, uint32_t *crc) {
    output o = {.writer = writer, .content = content, .pieces = {malloc(PIECE), malloc(PIECE)}};
    text_vector header = {0};
    ons_named_tensor *sorted = calloc(content->count + 1, sizeof *sorted);
    bool enough = sorted != NULL && o.pieces[0] != NULL && o.pieces[1] != NULL;
    ons_status *status = enough ? ons_checksum_new(&o.checksum) : ons_status_out_of_memory();
    if (status == NULL && sorted != NULL) {
        for (size_t i = 0; i < content->count; ++i) sorted[i] = content->tensors[i];
        qsort(sorted, content->count, sizeof *sorted, by_width);
        status = write_sorted(&o, sorted, &header);
    }
    uint32_t sum = ons_checksum_end(o.checksum);
    if (crc != NULL) *crc = sum;
    free(o.pieces[0]);
    free(o.pieces[1]);
    free(sorted);
    ons_vector_free(&header);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct span {
    uint64_t begin, end;
    const char *name;
} span;

static ons_status *read_dtype(const ons_json *entry, ons_dtype *dtype) {
    const char *text = NULL;
    ONS_TRY(ons_json_get_text(entry, "dtype", &text));
    for (int i = 0; i < DTYPES; ++i) {
        if (strcmp(dtypes[i].name, text) == 0) {
            *dtype = dtypes[i].dtype;
            return NULL;
        }
    }
    return ons_status_new(ONS_UNSUPPORTED, "element type '%s' is not supported", text);
}

static ons_status *read_shape(const ons_json *entry, ons_shape *shape) {
    const ons_json *array = NULL, *dimension;
    ONS_TRY(ons_json_get_array(entry, "shape", &array));
    *shape = (ons_shape){0};
    cJSON_ArrayForEach(dimension, array) {
        ONS_CHECK(shape->rank < ONS_RANK_MAX, ONS_UNSUPPORTED, "more than %d dimensions", ONS_RANK_MAX);
        ONS_CHECK(ons_json_as_int(dimension, &shape->dims[shape->rank]), ONS_INVALID_DATA,
                  "'shape' holds something else than whole numbers");
        ++shape->rank;
    }
    ons_status *status = ons_shape_check(shape);
    ons_status_free(status);
    ONS_CHECK(status == NULL, ONS_INVALID_DATA, "'shape' is impossible");
    return NULL;
}

static ons_status *read_offsets(const ons_json *entry, uint64_t data_size, span *s) {
    const ons_json *offsets = NULL;
    ONS_TRY(ons_json_get_array(entry, "data_offsets", &offsets));
    int64_t begin, end;
    bool valid = cJSON_GetArraySize(offsets) == 2 && ons_json_as_int(cJSON_GetArrayItem(offsets, 0), &begin) &&
                 ons_json_as_int(cJSON_GetArrayItem(offsets, 1), &end) && begin >= 0 && begin <= end;
    ONS_CHECK(valid, ONS_INVALID_DATA, "'data_offsets' is not a begin and an end");
    ONS_CHECK((uint64_t)end <= data_size, ONS_INVALID_DATA, "its data end after the file: is it truncated?");
    s->begin = (uint64_t)begin;
    s->end = (uint64_t)end;
    return NULL;
}

static ons_status *read_entry(const ons_json *entry, const uint8_t *data, uint64_t data_size, ons_tensor *tensor,
                              span *s) {
    ONS_CHECK(cJSON_IsObject(entry), ONS_INVALID_DATA, "its description is not an object");
    *tensor = (ons_tensor){0};
    ONS_TRY(read_dtype(entry, &tensor->type.dtype));
    ONS_TRY(read_shape(entry, &tensor->type.shape));
    ONS_TRY(read_offsets(entry, data_size, s));
    ONS_CHECK(s->end - s->begin == (uint64_t)ons_type_dense_bytes(&tensor->type), ONS_INVALID_DATA,
              "'data_offsets' and 'shape' disagree");
    tensor->data = data + s->begin;
    return NULL;
}

static int by_begin(const void *left, const void *right) {
    const span *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static ons_status *check_cover(span *spans, size_t count, uint64_t data_size) {
    qsort(spans, count, sizeof *spans, by_begin);
    uint64_t position = 0;
    for (size_t i = 0; i < count; ++i) {
        ONS_CHECK(spans[i].begin == position, ONS_INVALID_DATA, "tensor '%s': its data %s", spans[i].name,
                  spans[i].begin < position ? "overlap those of another" : "leave a gap before them");
        position = spans[i].end;
    }
    ONS_CHECK(position == data_size, ONS_INVALID_DATA, "%llu bytes after the last tensor",
              (unsigned long long)(data_size - position));
    return NULL;
}

static ons_status *read_entries(const ons_json *root, const uint8_t *data, uint64_t data_size, ons_safetensors *file) {
    ONS_CHECK(cJSON_IsObject(root), ONS_INVALID_DATA, "the header is not an object");
    size_t count = (size_t)cJSON_GetArraySize(root);
    span *spans;
    ONS_NEW(file->tensors, file->arena, count);
    ONS_NEW(spans, file->arena, count);
    const ons_json *entry;
    cJSON_ArrayForEach(entry, root) {
        if (strcmp(entry->string, "__metadata__") == 0) continue;
        ons_named_tensor *tensor = &file->tensors[file->count];
        tensor->name = ons_arena_copy_text(file->arena, entry->string);
        if (tensor->name == NULL) return ons_status_out_of_memory();
        ONS_CHECK(ons_map_get(&file->names, tensor->name) == ONS_MAP_ABSENT, ONS_INVALID_DATA,
                  "tensor '%s' is described twice", tensor->name);
        ONS_TRY(ons_map_set(&file->names, tensor->name, (uint32_t)file->count));
        spans[file->count].name = tensor->name;
        ONS_TRY_AT(read_entry(entry, data, data_size, &tensor->tensor, &spans[file->count]), "tensor '%s'",
                   tensor->name);
        ++file->count;
    }
    return check_cover(spans, file->count, data_size);
}

ons_status *ons_safetensors_parse(const uint8_t *bytes, size_t size, ons_safetensors *file) {
    *file = (ons_safetensors){0};
    uint64_t length = 0;
    ONS_CHECK(size >= LENGTH_BYTES, ONS_INVALID_DATA, "too short for a safetensors file");
    memcpy(&length, bytes, LENGTH_BYTES);
    ONS_CHECK(length <= HEADER_MAX && length <= size - LENGTH_BYTES, ONS_INVALID_DATA,
              "no safetensors file: its header would have %llu bytes", (unsigned long long)length);
    file->arena = ons_arena_new();
    if (file->arena == NULL) return ons_status_out_of_memory();
    ons_json *root;
    ONS_TRY_AT(ons_json_parse(bytes + LENGTH_BYTES, length, &root), "safetensors header");
    const uint8_t *data = bytes + LENGTH_BYTES + length;
    ons_status *status = read_entries(root, data, size - LENGTH_BYTES - length, file);
    ons_json_free(root);
    return status;
}

void ons_safetensors_free(ons_safetensors *file) {
    ons_map_free(&file->names);
    if (file->arena != NULL) ons_arena_free(file->arena);
    *file = (ons_safetensors){0};
}

const ons_tensor *ons_safetensors_find(const ons_safetensors *file, const char *name) {
    uint32_t index = ons_map_get(&file->names, name);
    return index == ONS_MAP_ABSENT ? NULL : &file->tensors[index].tensor;
}
