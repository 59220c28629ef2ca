#include "runtime/data/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/npz.h"
#include "runtime/data/text_array.h"

ons_status *ons_array_place(ons_array *array, const ons_type *type, const uint8_t *bytes, size_t size, size_t offset) {
    uint64_t needed = (uint64_t)ons_type_dense_bytes(type);
    char text[ONS_TYPE_TEXT];
    ONS_CHECK(offset <= size && needed <= size - offset, ONS_INVALID_DATA,
              "%s needs %llu bytes, the file has %llu: is it truncated?", ons_type_print(type, text),
              (unsigned long long)needed, (unsigned long long)(offset <= size ? size - offset : 0));
    array->type = *type;
    array->data = bytes + offset;
    return NULL;
}

static void reverse_elements(const uint8_t *from, uint8_t *to, size_t count, size_t width) {
    for (size_t i = 0; i < count; ++i, from += width, to += width) {
        uint64_t word = 0;
        memcpy(&word, from, width);
        word = __builtin_bswap64(word) >> (64 - 8 * width);
        memcpy(to, &word, width);
    }
}

/* A row of the innermost axis: `count` elements that stand `stride` bytes apart. */
static void gather_row(const uint8_t *from, size_t stride, size_t width, size_t count, uint8_t *to) {
    if (stride == width)
        memcpy(to, from, count * width);
    else
        for (size_t i = 0; i < count; ++i) memcpy(to + i * width, from + i * stride, width);
}

/* Copies all elements in row-major order of `shape`; from one index of axis i to the next are strides[i] bytes. */
static void gather_rows(const ons_shape *shape, const size_t *strides, size_t width, const uint8_t *from, uint8_t *to) {
    uint32_t last = shape->rank - 1;
    int64_t index[ONS_RANK_MAX] = {0};
    size_t row = (size_t)shape->dims[last];
    for (int64_t rows = ons_shape_span(shape, 0, last); rows > 0; --rows, to += row * width) {
        size_t offset = 0;
        for (uint32_t i = 0; i < last; ++i) offset += (size_t)index[i] * strides[i];
        gather_row(from + offset, strides[last], width, row, to);
        for (uint32_t i = last; i-- > 0 && ++index[i] == shape->dims[i];) index[i] = 0;
    }
}

ons_status *ons_array_permute(ons_array *array, const uint32_t *axes) {
    const ons_shape old = array->type.shape;
    size_t width = ons_dtype_size(array->type.dtype), strides[ONS_RANK_MAX];
    if (old.rank == 0) return NULL;
    ons_shape shape = {.rank = old.rank};
    for (uint32_t i = 0; i < old.rank; ++i) {
        shape.dims[i] = old.dims[axes[i]];
        strides[i] = width * (size_t)ons_shape_span(&old, axes[i] + 1, old.rank);
    }
    size_t bytes = (size_t)ons_type_dense_bytes(&array->type);
    if (bytes > 0) {
        uint8_t *memory = malloc(bytes);
        if (memory == NULL) return ons_status_out_of_memory();
        gather_rows(&shape, strides, width, array->data, memory);
        free(array->memory);
        array->memory = memory;
        array->data = memory;
    }
    array->type.shape = shape;
    return NULL;
}

ons_status *ons_array_move_to_front(ons_array *array, uint32_t axis) {
    uint32_t axes[ONS_RANK_MAX] = {axis};
    for (uint32_t i = 1; i < array->type.shape.rank; ++i) axes[i] = i <= axis ? i - 1 : i;
    ONS_TRY(ons_array_permute(array, axes));
    if (array->memory == NULL) return NULL;
    ons_mapping_close(&array->mapping); /* nothing in the file is needed any more */
    ons_file_reader_close(&array->reader);
    return NULL;
}

ons_status *ons_array_swap_bytes(ons_array *array) {
    size_t width = ons_dtype_size(array->type.dtype);
    size_t count = (size_t)ons_shape_elements(&array->type.shape);
    if (width <= 1 || count == 0) return NULL;
    uint8_t *memory = malloc(count * width);
    if (memory == NULL) return ons_status_out_of_memory();
    reverse_elements(array->data, memory, count, width);
    free(array->memory);
    array->memory = memory;
    array->data = memory;
    return NULL;
}

void ons_array_close(ons_array *array) {
    free(array->memory);
    ons_mapping_close(&array->mapping);
    ons_file_reader_close(&array->reader);
    *array = (ons_array){0};
}

static ons_status *read_tensor(const uint8_t *bytes, size_t size, const char *path, ons_tensor_reader *reader,
                               ons_array *array) {
    ONS_CHECK(size > 0, ONS_INVALID_DATA, "the file is empty");
    if (ons_text_array_recognise(bytes, size)) return ons_text_array_refuse(bytes, size, path);
    ONS_CHECK(reader != NULL, ONS_INVALID_DATA, "neither .npy, .npz nor idx");
    ONS_TRY_AT(reader(bytes, size, &array->type, &array->memory),
               "neither .npy, .npz nor idx, and taken for an ONNX TensorProto");
    array->data = array->memory;
    return NULL;
}

/* Leaves what it made in *array, also on failure. */
static ons_status *parse(const uint8_t *bytes, size_t size, const char *path, const char *member,
                         ons_tensor_reader *reader, ons_array *array) {
    if (ons_npz_recognise(bytes, size)) return ons_npz_parse(bytes, size, member, array);
    ONS_CHECK(member == NULL, ONS_INVALID_DATA, "not an .npz archive, so there is no member '%s' in it", member);
    if (ons_npy_recognise(bytes, size)) return ons_npy_parse(bytes, size, array);
    if (ons_gzip_recognise(bytes, size)) return ons_idx_parse_gzip(bytes, size, array);
    if (ons_idx_recognise(bytes, size)) return ons_idx_parse(bytes, size, array);
    return read_tensor(bytes, size, path, reader, array);
}

/* Where the bytes are known to be another kind of file, that says more than what they lack as an array. */
static ons_status *name_kind(const uint8_t *bytes, size_t size, ons_status *status) {
    bool knows = ons_status_get_code(status) == ONS_OUT_OF_MEMORY || size == 0;
    const ons_file_kind *kind = knows ? NULL : ons_file_kind_find(bytes, size);
    if (kind == NULL || kind->may_hold_arrays) return status;
    ons_status_free(status);
    return ons_status_new(ONS_INVALID_DATA, "this is %s, not an array; %s", kind->what, kind->remedy);
}

static ons_status *open_bytes(const uint8_t *bytes, size_t size, const char *path, const char *member,
                              ons_tensor_reader *reader, ons_array *array) {
    *array = (ons_array){0};
    ons_status *status = parse(bytes, size, path, member, reader, array);
    if (status == NULL) return NULL;
    ons_array_close(array);
    return name_kind(bytes, size, status);
}

ons_status *ons_array_open_memory(const uint8_t *bytes, size_t size, const char *member, ons_tensor_reader *reader,
                                  ons_array *array) {
    return open_bytes(bytes, size, NULL, member, reader, array);
}

static ons_status *open_file(const char *path, const char *member, ons_tensor_reader *reader, ons_array *array) {
    ons_mapping mapping;
    ons_file_reader file;
    ONS_TRY(ons_mapping_open_both(path, &mapping, &file));
    ons_status *status = open_bytes(mapping.bytes, mapping.size, path, member, reader, array);
    if (status == NULL && array->memory == NULL) {
        array->mapping = mapping;
        array->reader = file;
    } else {
        ons_mapping_close(&mapping);
        ons_file_reader_close(&file);
    }
    return ons_status_at(status, "'%s'", path);
}

ons_status *ons_array_open(const char *path, ons_tensor_reader *reader, ons_array *array) {
    *array = (ons_array){0};
    const char *colon = strrchr(path, ':');
    if (colon == NULL || colon == path || colon[1] == '\0' || access(path, F_OK) == 0)
        return open_file(path, NULL, reader, array);
    char *file = strndup(path, (size_t)(colon - path));
    if (file == NULL) return ons_status_out_of_memory();
    ons_status *status = open_file(file, colon + 1, reader, array);
    free(file);
    return status;
}
