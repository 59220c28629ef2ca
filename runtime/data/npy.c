#include "runtime/data/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
enum { MAGIC_BYTES = 6, HEADER_MAX = 1 << 20, ALIGNMENT = 64 };

bool ons_npy_recognise(const uint8_t *bytes, size_t size) {
    return size >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
}

/* ----------------------------------------------------------------------------------------------------------- header */

/* The header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } */
typedef struct header {
    char descr[16];
    bool fortran_order, big_endian;
    bool has_descr, has_order, has_shape;
    ons_shape shape;
} header;

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) ++c->at;
}

/* Takes the character if it comes next. */
static bool take(cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted) return false;
    ++c->at;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    skip_blanks(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static bool take_quoted(cursor *c, char *text, size_t size) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t length = 0;
    for (; c->at < c->end && *c->at != quote; ++c->at) {
        if (length + 1 >= size || *c->at == '\\') return false;
        text[length++] = *c->at;
    }
    text[length] = '\0';
    return take(c, quote);
}

static bool take_dimension(cursor *c, int64_t *value) {
    skip_blanks(c);
    const char *begin = c->at;
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; ++c->at)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *c->at - '0', value))
            return false;
    bool found = c->at > begin;
    if (c->at < c->end && *c->at == 'L') /* written by Python 2 */
        ++c->at;
    return found;
}

static ons_status *read_shape(cursor *c, ons_shape *shape) {
    ONS_CHECK(take(c, '('), ONS_INVALID_DATA, "the .npy header's shape is not a tuple");
    *shape = (ons_shape){0};
    while (!take(c, ')')) {
        int64_t dimension;
        ONS_CHECK(take_dimension(c, &dimension), ONS_INVALID_DATA, "the .npy header's shape is damaged");
        ONS_CHECK(shape->rank < ONS_RANK_MAX, ONS_UNSUPPORTED, "the array has more than %d dimensions", ONS_RANK_MAX);
        shape->dims[shape->rank++] = dimension;
        if (!take(c, ',')) {
            ONS_CHECK(take(c, ')'), ONS_INVALID_DATA, "the .npy header's shape is damaged");
            break;
        }
    }
    ons_status *status = ons_shape_check(shape);
    ons_status_free(status);
    ONS_CHECK(status == NULL, ONS_INVALID_DATA, "the .npy header's shape is impossibly large");
    return NULL;
}

static ons_status *read_entry(cursor *c, const char *key, header *h) {
    if (strcmp(key, "descr") == 0) {
        h->has_descr = true;
        skip_blanks(c);
        ONS_CHECK(c->at == c->end || *c->at != '[', ONS_UNSUPPORTED,
                  "an array of records; save each field as an array of its own");
        ONS_CHECK(take_quoted(c, h->descr, sizeof h->descr), ONS_INVALID_DATA, "the .npy header's descr is damaged");
        return NULL;
    }
    if (strcmp(key, "fortran_order") == 0) {
        h->has_order = true;
        h->fortran_order = take_word(c, "True");
        ONS_CHECK(h->fortran_order || take_word(c, "False"), ONS_INVALID_DATA,
                  "the .npy header's fortran_order is neither True nor False");
        return NULL;
    }
    ONS_CHECK(strcmp(key, "shape") == 0, ONS_INVALID_DATA, "the .npy header has an unknown entry '%s'", key);
    h->has_shape = true;
    return read_shape(c, &h->shape);
}

static ons_status *read_header(cursor *c, header *h) {
    ONS_CHECK(take(c, '{'), ONS_INVALID_DATA, "the .npy header is not a dictionary");
    while (!take(c, '}')) {
        char key[32];
        ONS_CHECK(take_quoted(c, key, sizeof key) && take(c, ':'), ONS_INVALID_DATA, "the .npy header is damaged");
        ONS_TRY(read_entry(c, key, h));
        if (!take(c, ',')) {
            ONS_CHECK(take(c, '}'), ONS_INVALID_DATA, "the .npy header is damaged");
            break;
        }
    }
    skip_blanks(c);
    ONS_CHECK(c->at == c->end, ONS_INVALID_DATA, "the .npy header has text after its end");
    ONS_CHECK(h->has_descr && h->has_order && h->has_shape, ONS_INVALID_DATA, "the .npy header lacks '%s'",
              !h->has_descr   ? "descr"
              : !h->has_order ? "fortran_order"
                              : "shape");
    return NULL;
}

static const struct {
    const char *code;
    ons_dtype dtype;
} codes[] = {
    {"f4", ONS_FLOAT32}, {"f8", ONS_FLOAT64}, {"f2", ONS_FLOAT16}, {"i1", ONS_INT8},
    {"i2", ONS_INT16},   {"i4", ONS_INT32},   {"i8", ONS_INT64},   {"u1", ONS_UINT8},
    {"u2", ONS_UINT16},  {"u4", ONS_UINT32},  {"u8", ONS_UINT64},  {"b1", ONS_BOOL},
};
enum { CODES = sizeof codes / sizeof codes[0] };

static ons_status *read_dtype(header *h, ons_dtype *dtype) {
    const char *code = h->descr;
    if (*code != '\0' && strchr("<>|=", *code) != NULL) h->big_endian = *code++ == '>';
    for (int i = 0; i < CODES; ++i) {
        if (strcmp(codes[i].code, code) == 0) {
            *dtype = codes[i].dtype;
            return NULL;
        }
    }
    ONS_CHECK(code[0] != 'O', ONS_UNSUPPORTED,
              "an array of Python objects; convert it, for instance with astype('float32')");
    return ons_status_new(ONS_UNSUPPORTED,
                          "element type '%s' is none that onstage reads; convert it, for instance with "
                          "astype('float32')",
                          h->descr);
}

/* With at most one dimension above 1 both orders are the same. */
static bool order_matters(const ons_shape *shape) {
    int long_dimensions = 0;
    for (uint32_t i = 0; i < shape->rank; ++i) {
        if (shape->dims[i] == 0) return false;
        long_dimensions += shape->dims[i] > 1;
    }
    return long_dimensions > 1;
}

/* Fortran's order is row-major order of the axes from the last to the first. */
static void reverse_axes(ons_shape *shape) {
    const ons_shape old = *shape;
    for (uint32_t i = 0; i < old.rank; ++i) shape->dims[i] = old.dims[old.rank - 1 - i];
}

ons_status *ons_npy_parse(const uint8_t *bytes, size_t size, ons_array *array) {
    ONS_CHECK(ons_npy_recognise(bytes, size), ONS_INVALID_DATA, "not an .npy file");
    ONS_CHECK(size >= 10, ONS_INVALID_DATA, "the .npy header is truncated");
    unsigned version = bytes[6];
    ONS_CHECK(version >= 1 && version <= 3, ONS_UNSUPPORTED, "version %u of .npy; versions 1 to 3 are known", version);
    size_t start = version == 1 ? 10 : 12;
    ONS_CHECK(size >= start, ONS_INVALID_DATA, "the .npy header is truncated");
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    ONS_CHECK(length <= HEADER_MAX && length <= size - start, ONS_INVALID_DATA, "the .npy header is truncated");

    header h = {0};
    cursor c = {(const char *)bytes + start, (const char *)bytes + start + length};
    ONS_TRY(read_header(&c, &h));
    ons_type type = ons_type_make(ONS_NO_DTYPE, h.shape);
    ONS_TRY(read_dtype(&h, &type.dtype));
    bool reversed = h.fortran_order && order_matters(&h.shape);
    if (reversed) reverse_axes(&type.shape);
    ONS_TRY(ons_array_place(array, &type, bytes, size, start + length));
    if (h.big_endian) ONS_TRY(ons_array_swap_bytes(array));
    uint32_t axes[ONS_RANK_MAX];
    for (uint32_t i = 0; i < type.shape.rank; ++i) axes[i] = type.shape.rank - 1 - i;
    return reversed ? ons_array_permute(array, axes) : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

struct ons_npy_writer {
    ons_file_writer *file;
    uint64_t row_bytes;
    uint64_t rows, written;
    ons_array kept; /* all rows, in front of their place; memory NULL: they are written as they come */
    uint32_t axis;
};

/* Python's text for a shape: "(3,)", "(3, 2)". */
static void print_shape(const ons_shape *shape, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, "(");
    for (uint32_t i = 0; i < shape->rank; ++i)
        length += (size_t)snprintf(text + length, size - length, "%lld%s", (long long)shape->dims[i],
                                   shape->rank == 1      ? ","
                                   : i + 1 < shape->rank ? ", "
                                                         : "");
    snprintf(text + length, size - length, ")");
}

static ons_status *write_header(ons_file_writer *file, const ons_type *type) {
    const char *code = NULL;
    for (int i = 0; i < CODES; ++i)
        if (codes[i].dtype == type->dtype) code = codes[i].code;
    ONS_CHECK(code != NULL, ONS_UNSUPPORTED, "%s cannot be saved as .npy", ons_dtype_name(type->dtype));
    char shape[ONS_RANK_MAX * 24];
    print_shape(&type->shape, shape, sizeof shape);
    /* The data begin at a multiple of 64: blanks fill the header, a line break ends it. */
    char text[512] = MAGIC "\x01";
    size_t length = 10;
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                               ons_dtype_size(type->dtype) == 1 ? '|' : '<', code, shape);
    size_t padded = (length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + length, ' ', padded - length);
    text[padded - 1] = '\n';
    text[8] = (char)((padded - 10) & 0xff);
    text[9] = (char)((padded - 10) >> 8);
    return ons_file_write(file, text, padded);
}

/* The type of an array that holds `rows` rows along axis `axis`. */
static ons_type with_rows(const ons_type *row, uint64_t rows, uint32_t axis) {
    ons_type whole = ons_type_make(row->dtype, (ons_shape){.rank = row->shape.rank + 1});
    for (uint32_t i = 0; i < row->shape.rank; ++i) whole.shape.dims[i + (i >= axis)] = row->shape.dims[i];
    whole.shape.dims[axis] = (int64_t)rows;
    return whole;
}

static ons_status *open_writer(const char *path, const ons_type *row, uint64_t rows, const ons_type *whole,
                               ons_npy_writer **result) {
    ONS_TRY(ons_shape_check(&whole->shape));
    ons_npy_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return ons_status_out_of_memory();
    writer->row_bytes = (uint64_t)ons_type_dense_bytes(row);
    writer->rows = rows;
    ons_status *status = ons_file_writer_open(path, &writer->file);
    if (status == NULL) status = ons_status_at(write_header(writer->file, whole), "'%s'", path);
    if (status != NULL) {
        ons_npy_writer_discard(writer);
        return status;
    }
    *result = writer;
    return NULL;
}

/* Makes room for all rows. */
static ons_status *keep_rows(ons_npy_writer *writer, const ons_type *row, uint32_t axis) {
    writer->axis = axis;
    if (axis == 0) return NULL;
    writer->kept.type = with_rows(row, writer->rows, 0);
    writer->kept.memory = malloc((size_t)ons_type_dense_bytes(&writer->kept.type) + 1);
    writer->kept.data = writer->kept.memory;
    return writer->kept.memory == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_npy_writer_open(const char *path, const ons_type *row, uint64_t rows, uint32_t axis,
                                ons_npy_writer **result) {
    ONS_CHECK(row->shape.rank < ONS_RANK_MAX && rows <= INT64_MAX, ONS_UNSUPPORTED,
              "'%s': the array would have more than %d dimensions", path, ONS_RANK_MAX);
    const ons_type whole = with_rows(row, rows, axis);
    ons_npy_writer *writer;
    ONS_TRY(open_writer(path, row, rows, &whole, &writer));
    ons_status *status = keep_rows(writer, row, axis);
    if (status != NULL) {
        ons_npy_writer_discard(writer);
        return status;
    }
    *result = writer;
    return NULL;
}

ons_status *ons_npy_write_rows(ons_npy_writer *writer, const void *data, uint64_t rows) {
    ONS_CHECK(rows <= writer->rows - writer->written, ONS_DEFECT, "more rows than the .npy file was opened for");
    if (writer->kept.memory != NULL)
        memcpy((char *)writer->kept.memory + writer->written * writer->row_bytes, data, rows * writer->row_bytes);
    writer->written += rows;
    return writer->kept.memory != NULL ? NULL : ons_file_write(writer->file, data, rows * writer->row_bytes);
}

/* Writes the rows that were kept, axis 0 in its place. */
static ons_status *write_kept(ons_npy_writer *writer) {
    if (writer->kept.memory == NULL) return NULL;
    uint32_t axes[ONS_RANK_MAX] = {0};
    for (uint32_t i = 0; i < writer->kept.type.shape.rank; ++i)
        axes[i] = i < writer->axis ? i + 1 : i == writer->axis ? 0 : i;
    ONS_TRY(ons_array_permute(&writer->kept, axes));
    return ons_file_write(writer->file, writer->kept.memory, writer->rows * writer->row_bytes);
}

ons_status *ons_npy_writer_commit(ons_npy_writer *writer) {
    if (writer->written != writer->rows) {
        ons_status *status = ons_status_new(ONS_DEFECT, "%llu of the %llu rows of the .npy file were written",
                                            (unsigned long long)writer->written, (unsigned long long)writer->rows);
        ons_npy_writer_discard(writer);
        return status;
    }
    ons_status *status = write_kept(writer);
    if (status != NULL) {
        ons_npy_writer_discard(writer);
        return status;
    }
    status = ons_file_commit(writer->file);
    ons_array_close(&writer->kept);
    free(writer);
    return status;
}

void ons_npy_writer_discard(ons_npy_writer *writer) {
    if (writer == NULL) return;
    ons_file_discard(writer->file);
    ons_array_close(&writer->kept);
    free(writer);
}

ons_status *ons_npy_save(const char *path, const ons_type *type, const void *data) {
    ons_npy_writer *writer = NULL;
    ons_status *status = open_writer(path, type, 1, type, &writer);
    if (status != NULL || writer == NULL) return status;
    status = ons_npy_write_rows(writer, data, 1);
    if (status != NULL) {
        ons_npy_writer_discard(writer);
        return status;
    }
    return ons_npy_writer_commit(writer);
}
