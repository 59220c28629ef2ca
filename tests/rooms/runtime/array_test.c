/* .npy, .npz, idx, gzip: good files, and every way of being bad that somebody thought of. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/data/array.h"
#include "runtime/data/npy.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(array, .init = scratch_make, .fini = scratch_remove);

typedef struct buffer {
    size_t size;
    uint8_t bytes[8192];
} buffer;

static void put(buffer *b, const void *bytes, size_t size) {
    cr_assert_leq(b->size + size, sizeof b->bytes);
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static void put_number(buffer *b, uint64_t value, size_t width) { put(b, &value, width); }

/* An .npy file with this header, and `size` bytes of data 0, 1, 2, … */
static buffer make_npy(int version, const char *header, size_t size) {
    buffer b = {0};
    put(&b, "\x93NUMPY", 6);
    put_number(&b, (uint64_t)version, 2);
    put_number(&b, strlen(header), version == 1 ? 2 : 4);
    put(&b, header, strlen(header));
    for (size_t i = 0; i < size; ++i) put_number(&b, i & 0xff, 1);
    return b;
}

static void expect_refused(const buffer *b, ons_status_code code, const char *part) {
    /* On the heap and of the exact size, so that the address sanitizer sees a read behind the end. */
    uint8_t *copy = malloc(b->size + (b->size == 0));
    memcpy(copy, b->bytes, b->size);
    ons_array array;
    expect_failure(ons_array_open_memory(copy, b->size, NULL, NULL, &array), code, part);
    cr_expect_null(array.data);
    cr_expect_null(array.memory);
    free(copy);
}

Test(array, npy_versions_and_spellings) {
    static const struct {
        int version;
        const char *header;
    } cases[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"},
        {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"},
        {3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}\n"},
        {1, "{\"shape\":(2L,3L),\"descr\":\"<f4\",\"fortran_order\":False}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        buffer b = make_npy(cases[i].version, cases[i].header, 24);
        ons_array array;
        char text[ONS_TYPE_TEXT];
        expect_success(ons_array_open_memory(b.bytes, b.size, NULL, NULL, &array));
        cr_expect_str_eq(ons_type_print(&array.type, text), "float32[2,3]");
        cr_expect_eq((const uint8_t *)array.data, b.bytes + b.size - 24);
        ons_array_close(&array);
    }
}

Test(array, npy_shapes) {
    static const struct {
        const char *header, *type;
        size_t bytes;
    } cases[] = {
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "bool[]", 1},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", "uint8[5]", 5},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (0, 4), }", "int64[0,4]", 0},
        {"{'descr': '<f2', 'fortran_order': True, 'shape': (1, 4, 1), }", "float16[1,4,1]", 8},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2), }", "uint16[1,1,1,1,1,1,1,2]", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        buffer b = make_npy(1, cases[i].header, cases[i].bytes);
        ons_array array;
        char text[ONS_TYPE_TEXT];
        expect_success(ons_array_open_memory(b.bytes, b.size, NULL, NULL, &array));
        cr_expect_str_eq(ons_type_print(&array.type, text), cases[i].type);
        ons_array_close(&array);
    }
}

Test(array, npy_big_endian) {
    buffer b = make_npy(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", 8);
    ons_array array;
    expect_success(ons_array_open_memory(b.bytes, b.size, NULL, NULL, &array));
    int32_t numbers[2];
    memcpy(numbers, array.data, sizeof numbers);
    cr_expect_eq(numbers[0], 0x00010203);
    cr_expect_eq(numbers[1], 0x04050607);
    ons_array_close(&array);
}

/* Bytes 0, 1, 2, … in Fortran's order: element (i, j, k) of [2, 3, 2] is number i + 2 j + 6 k. */
Test(array, npy_in_fortran_order) {
    buffer b = make_npy(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", 12);
    ons_array array;
    char text[ONS_TYPE_TEXT];
    expect_success(ons_array_open_memory(b.bytes, b.size, NULL, NULL, &array));
    cr_expect_str_eq(ons_type_print(&array.type, text), "uint8[2,3,2]");
    cr_expect_arr_eq(array.data, ((const uint8_t[]){0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}), 12);
    ons_array_close(&array);

    b = make_npy(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", 8);
    expect_success(ons_array_open_memory(b.bytes, b.size, NULL, NULL, &array));
    cr_expect_arr_eq(array.data, ((const int16_t[]){0x0001, 0x0405, 0x0203, 0x0607}), 8);
    ons_array_close(&array);
}

Test(array, axis_moved_to_front) {
    int32_t numbers[24];
    for (int i = 0; i < 24; ++i) numbers[i] = i;
    for (uint32_t axis = 0; axis < 3; ++axis) {
        const int64_t sizes[] = {2, 3, 4}, strides[] = {12, 4, 1};
        uint32_t second = axis == 0 ? 1 : 0, third = axis == 2 ? 1 : 2;
        ons_array array = {.type = ons_type_make(ONS_INT32, ons_shape_make(3, sizes)), .data = numbers};
        expect_success(ons_array_move_to_front(&array, axis));
        cr_assert_eq(array.type.shape.dims[0], sizes[axis]);
        cr_assert_eq(array.type.shape.dims[1], sizes[second]);
        const int32_t *moved = array.data;
        for (int64_t i = 0; i < sizes[axis]; ++i)
            for (int64_t j = 0; j < sizes[second]; ++j)
                for (int64_t k = 0; k < sizes[third]; ++k)
                    cr_expect_eq(*moved++, i * strides[axis] + j * strides[second] + k * strides[third]);
        ons_array_close(&array);
    }
    ons_array none = {.type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){0, 3}))};
    expect_success(ons_array_move_to_front(&none, 1));
    cr_expect_eq(none.type.shape.dims[0], 3);
}

Test(array, npy_refused) {
    static const struct {
        int version;
        const char *header;
        size_t bytes;
        ons_status_code code;
        const char *part;
    } cases[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, ONS_INVALID_DATA, "truncated"},
        {1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 24, ONS_UNSUPPORTED, "Python objects"},
        {1, "{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }", 24, ONS_UNSUPPORTED, "'<U5'"},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 24, ONS_UNSUPPORTED, "records"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", 24, ONS_INVALID_DATA,
         "impossibly large"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 24, ONS_INVALID_DATA,
         "shape is damaged"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 24, ONS_INVALID_DATA, "shape is damaged"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 24, ONS_UNSUPPORTED,
         "dimensions"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 24, ONS_INVALID_DATA, "lacks 'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", 24, ONS_INVALID_DATA, "neither True"},
        {1, "{'descr': '<f4', 'colour': 1, 'shape': (2,)}", 24, ONS_INVALID_DATA, "unknown entry 'colour'"},
        {1, "{'descr': '<f4'", 24, ONS_INVALID_DATA, "damaged"},
        {1, "{'descr", 0, ONS_INVALID_DATA, "damaged"},
        {1, "{", 0, ONS_INVALID_DATA, "damaged"},
        {1, "", 0, ONS_INVALID_DATA, "not a dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } more", 24, ONS_INVALID_DATA, "after its end"},
        {9, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 24, ONS_UNSUPPORTED, "version 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        buffer b = make_npy(cases[i].version, cases[i].header, cases[i].bytes);
        expect_refused(&b, cases[i].code, cases[i].part);
    }
}

Test(array, npy_cut_anywhere) {
    buffer b = make_npy(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
    for (size_t size = 0; size < b.size; ++size) {
        buffer cut = b;
        cut.size = size;
        expect_refused(&cut, ONS_INVALID_DATA, "");
    }
}

Test(array, npy_written_and_read) {
    const float rows[4][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}};
    ons_type row = ons_type_make(ONS_FLOAT32, ons_shape_make(1, (const int64_t[]){3}));
    ons_npy_writer *writer;
    const char *path = scratch_path("rows.npy");
    expect_success(ons_npy_writer_open(path, &row, 4, 0, &writer));
    expect_success(ons_npy_write_rows(writer, rows[0], 1));
    expect_success(ons_npy_write_rows(writer, rows[1], 3));
    cr_expect_neq(access(path, F_OK), 0, "the file appears only when it is complete");
    expect_success(ons_npy_writer_commit(writer));

    ons_array array;
    char text[ONS_TYPE_TEXT];
    expect_success(ons_array_open(path, NULL, &array));
    cr_expect_str_eq(ons_type_print(&array.type, text), "float32[4,3]");
    cr_expect_eq((uintptr_t)array.data % 64, 0);
    cr_expect_arr_eq(array.data, rows, sizeof rows);
    ons_array_close(&array);

    ons_type scalar = ons_type_make(ONS_INT64, (ons_shape){0});
    expect_success(ons_npy_save(path, &scalar, &(int64_t){-5}));
    expect_success(ons_array_open(path, NULL, &array));
    cr_expect_str_eq(ons_type_print(&array.type, text), "int64[]");
    ons_array_close(&array);
    ons_type strings = ons_type_make(ONS_BFLOAT16, (ons_shape){0});
    expect_failure(ons_npy_save(path, &strings, &(int64_t){-5}), ONS_UNSUPPORTED, "bfloat16 cannot be saved");
    cr_expect_eq(scratch_count(scratch_path(""), ""), 1, "nothing but the file is left");
}

Test(array, npy_rows_along_another_axis) {
    const float rows[4][2][3] = {
        {{0, 1, 2}, {3, 4, 5}}, {{6, 7, 8}, {9, 10, 11}}, {{12, 13, 14}, {15, 16, 17}}, {{18, 19, 20}, {21, 22, 23}}};
    ons_type row = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){2, 3}));
    const char *path = scratch_path("rows.npy");
    for (uint32_t axis = 1; axis < 3; ++axis) {
        ons_npy_writer *writer;
        ons_array array;
        char text[ONS_TYPE_TEXT];
        expect_success(ons_npy_writer_open(path, &row, 4, axis, &writer));
        expect_success(ons_npy_write_rows(writer, rows[0], 3));
        expect_success(ons_npy_write_rows(writer, rows[3], 1));
        expect_success(ons_npy_writer_commit(writer));
        expect_success(ons_array_open(path, NULL, &array));
        cr_expect_str_eq(ons_type_print(&array.type, text), axis == 1 ? "float32[2,4,3]" : "float32[2,3,4]");
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 2; ++j)
                for (int k = 0; k < 3; ++k)
                    cr_expect_float_eq(
                        ((const float *)array.data)[axis == 1 ? (j * 4 + i) * 3 + k : (j * 3 + k) * 4 + i],
                        rows[i][j][k], 0);
        ons_array_close(&array);
    }
}

Test(array, npy_rows_missing) {
    ons_type row = ons_type_make(ONS_FLOAT32, (ons_shape){0});
    ons_npy_writer *writer;
    expect_success(ons_npy_writer_open(scratch_path("rows.npy"), &row, 4, 0, &writer));
    expect_success(ons_npy_write_rows(writer, &(float){1}, 1));
    expect_failure(ons_npy_write_rows(writer, &(float){1}, 4), ONS_DEFECT, "more rows");
    expect_failure(ons_npy_writer_commit(writer), ONS_DEFECT, "1 of the 4 rows");
    cr_expect_eq(scratch_count(scratch_path(""), ""), 0);
}

Test(array, files_that_are_none) {
    ons_array array;
    expect_failure(ons_array_open(scratch_path("missing.npy"), NULL, &array), ONS_IO_ERROR, "missing.npy");
    expect_failure(ons_array_open(scratch_path(""), NULL, &array), ONS_IO_ERROR, "folder");
    scratch_write(scratch_path("empty"), "", 0);
    expect_failure(ons_array_open(scratch_path("empty"), NULL, &array), ONS_INVALID_DATA, "empty");
    scratch_write(scratch_path("text"), "hello", 5);
    expect_failure(ons_array_open(scratch_path("text"), NULL, &array), ONS_INVALID_DATA, "neither .npy");
    expect_failure(ons_array_open(scratch_path("text:member"), NULL, &array), ONS_INVALID_DATA, "not an .npz");
}

static ons_status *read_byte(const uint8_t *bytes, size_t size, ons_type *type, void **memory) {
    ONS_CHECK(size == 1, ONS_INVALID_DATA, "not one byte");
    *type = ons_type_make(ONS_UINT8, ons_shape_make(1, (const int64_t[]){1}));
    *memory = malloc(1);
    memcpy(*memory, bytes, 1);
    return NULL;
}

Test(array, other_files_go_to_the_reader) {
    ons_array array;
    scratch_write(scratch_path("one.pb"), "x", 1);
    expect_success(ons_array_open(scratch_path("one.pb"), read_byte, &array));
    cr_expect_eq(*(const char *)array.data, 'x');
    ons_array_close(&array);
    scratch_write(scratch_path("two.pb"), "xy", 2);
    expect_failure(ons_array_open(scratch_path("two.pb"), read_byte, &array), ONS_INVALID_DATA, "not one byte");
}

/* -------------------------------------------------------------------------------------------------------------- npz */

typedef struct member {
    const char *name;
    buffer contents;
    bool packed;
} member;

static size_t deflate_bytes(const buffer *from, uint8_t *to, size_t room) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from->bytes,
                       .avail_in = (uInt)from->size,
                       .next_out = to,
                       .avail_out = (uInt)room};
    cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

/* As NumPy writes it: sizes in the local header are all ones, with the real ones in a zip64 extra field. */
static buffer make_npz(const member *members, size_t count) {
    buffer zip = {0}, directory = {0};
    for (size_t i = 0; i < count; ++i) {
        uint8_t packed[4096];
        const buffer *c = &members[i].contents;
        size_t size = members[i].packed ? deflate_bytes(c, packed, sizeof packed) : c->size;
        uint32_t crc = (uint32_t)crc32(0, c->bytes, (uInt)c->size);
        size_t local = zip.size, name = strlen(members[i].name);
        put(&zip, "PK\3\4\x2d\0\0\0", 8);
        put_number(&zip, members[i].packed ? 8 : 0, 2);
        put_number(&zip, 0, 4);
        put_number(&zip, crc, 4);
        put_number(&zip, UINT64_MAX, 8);
        put_number(&zip, name, 2);
        put_number(&zip, 20, 2);
        put(&zip, members[i].name, name);
        put(&zip, "\1\0\x10\0", 4);
        put_number(&zip, c->size, 8);
        put_number(&zip, size, 8);
        put(&zip, members[i].packed ? packed : c->bytes, size);

        put(&directory, "PK\1\2\x2d\0\x2d\0\0\0", 10);
        put_number(&directory, members[i].packed ? 8 : 0, 2);
        put_number(&directory, 0, 4);
        put_number(&directory, crc, 4);
        put_number(&directory, size, 4);
        put_number(&directory, c->size, 4);
        put_number(&directory, name, 2);
        put_number(&directory, 0, 8);
        put_number(&directory, 0, 4);
        put_number(&directory, local, 4);
        put(&directory, members[i].name, name);
    }
    size_t start = zip.size;
    put(&zip, directory.bytes, directory.size);
    put(&zip, "PK\5\6\0\0\0\0", 8);
    put_number(&zip, count, 2);
    put_number(&zip, count, 2);
    put_number(&zip, directory.size, 4);
    put_number(&zip, start, 4);
    put_number(&zip, 0, 2);
    return zip;
}

static buffer two_members(void) {
    member members[] = {
        {"x.npy", make_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24), false},
        {"labels.npy", make_npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (200,), }", 200), true},
    };
    return make_npz(members, 2);
}

Test(array, npz_members) {
    buffer zip = two_members();
    const char *path = scratch_path("two.npz");
    scratch_write(path, zip.bytes, zip.size);
    ons_array array;
    char text[ONS_TYPE_TEXT];
    expect_success(ons_array_open(scratch_path("two.npz:x"), NULL, &array));
    cr_expect_str_eq(ons_type_print(&array.type, text), "float32[2,3]");
    cr_expect_null(array.memory, "a stored member stays in the file");
    cr_expect_gt(array.mapping.size, 0);
    cr_expect_eq(((const uint8_t *)array.data)[23], 23);
    ons_array_close(&array);
    expect_success(ons_array_open(scratch_path("two.npz:labels.npy"), NULL, &array));
    cr_expect_str_eq(ons_type_print(&array.type, text), "uint8[200]");
    cr_expect_eq(((const uint8_t *)array.data)[199], 199);
    ons_array_close(&array);
    expect_failure(ons_array_open(path, NULL, &array), ONS_INVALID_DATA,
                   "several members; name one, as in "
                   "FILE.npz:MEMBER: x, labels");
    expect_failure(ons_array_open(scratch_path("two.npz:y"), NULL, &array), ONS_INVALID_DATA, "it has: x, labels");
}

Test(array, npz_members_whose_names_fill_a_message) {
    for (size_t length = 240; length <= 260; ++length) {
        char name[261] = "";
        memset(name, 'a', length);
        member members[] = {
            {name, make_npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3), false},
            {"x.npy", make_npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3), false},
        };
        buffer zip = make_npz(members, 2);
        expect_refused(&zip, ONS_INVALID_DATA, "several members");
    }
}

Test(array, npz_single_member_needs_no_name) {
    member one = {"x.npy", make_npy(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", 6), true};
    buffer zip = make_npz(&one, 1);
    ons_array array;
    expect_success(ons_array_open_memory(zip.bytes, zip.size, NULL, NULL, &array));
    cr_expect_arr_eq(array.data, ((const int16_t[]){0x0001, 0x0203, 0x0405}), 6);
    ons_array_close(&array);
}

Test(array, npz_cut_or_changed_anywhere) {
    buffer zip = two_members();
    ons_array array;
    for (size_t size = 0; size < zip.size; ++size) {
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, zip.bytes, size);
        ons_status *status = ons_array_open_memory(copy, size, "labels", NULL, &array);
        cr_expect_not_null(status, "%zu bytes", size);
        ons_status_free(status);
        free(copy);
    }
    for (size_t i = 0; i < zip.size; ++i) {
        for (int flip = 1; flip < 256; flip *= 2) {
            uint8_t *copy = malloc(zip.size);
            memcpy(copy, zip.bytes, zip.size);
            copy[i] ^= (uint8_t)flip;
            ons_status *status = ons_array_open_memory(copy, zip.size, "labels", NULL, &array);
            if (status == NULL && array.type.shape.dims[0] == 200)
                cr_expect_eq(((const uint8_t *)array.data)[100], 100, "byte %zu", i);
            ons_status_free(status);
            ons_array_close(&array);
            free(copy);
        }
    }
}

/* -------------------------------------------------------------------------------------------------------------- idx */

static buffer make_idx(uint8_t code, uint32_t a, uint32_t b, size_t bytes) {
    buffer idx = {0};
    put(&idx, (const uint8_t[]){0, 0, code, 2}, 4);
    put(&idx, (const uint8_t[]){0, 0, (uint8_t)(a >> 8), (uint8_t)a, 0, 0, (uint8_t)(b >> 8), (uint8_t)b}, 8);
    for (size_t i = 0; i < bytes; ++i) put_number(&idx, i & 0xff, 1);
    return idx;
}

Test(array, idx_element_types) {
    static const struct {
        uint8_t code;
        ons_dtype dtype;
    } types[] = {{8, ONS_UINT8}, {9, ONS_INT8}, {11, ONS_INT16}, {12, ONS_INT32}, {13, ONS_FLOAT32}, {14, ONS_FLOAT64}};
    for (size_t i = 0; i < 6; ++i) {
        size_t width = ons_dtype_size(types[i].dtype);
        buffer idx = make_idx(types[i].code, 2, 3, 6 * width);
        ons_array array;
        expect_success(ons_array_open_memory(idx.bytes, idx.size, NULL, NULL, &array));
        cr_expect_eq(array.type.dtype, types[i].dtype);
        cr_expect_eq(array.type.shape.dims[1], 3);
        /* The last byte in the file is the lowest of the last element. */
        cr_expect_eq(((const uint8_t *)array.data)[5 * width], 6 * width - 1);
        ons_array_close(&array);
        idx.size -= 1;
        expect_refused(&idx, ONS_INVALID_DATA, "truncated");
    }
}

static size_t gzip_bytes(const buffer *from, uint8_t *to, size_t room) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from->bytes,
                       .avail_in = (uInt)from->size,
                       .next_out = to,
                       .avail_out = (uInt)room};
    cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

Test(array, idx_gzipped) {
    buffer idx = make_idx(8, 20, 30, 600), zipped = {0};
    zipped.size = gzip_bytes(&idx, zipped.bytes, sizeof zipped.bytes);
    ons_array array;
    expect_success(ons_array_open_memory(zipped.bytes, zipped.size, NULL, NULL, &array));
    cr_expect_arr_eq(array.data, idx.bytes + 12, 600);
    ons_array_close(&array);
    for (size_t size = 2; size < zipped.size; ++size) {
        buffer cut = zipped;
        cut.size = size;
        expect_refused(&cut, size >= 2 ? ONS_INVALID_DATA : ONS_UNSUPPORTED, "");
    }
    zipped.bytes[zipped.size - 6] ^= 1; /* the checksum */
    expect_refused(&zipped, ONS_INVALID_DATA, "damaged");

    buffer small = make_idx(8, 1, 2, 2);
    zipped.size = gzip_bytes(&small, zipped.bytes, sizeof zipped.bytes);
    expect_success(ons_array_open_memory(zipped.bytes, zipped.size, NULL, NULL, &array));
    ons_array_close(&array);

    buffer longer = make_idx(8, 1, 2, 3);
    zipped.size = gzip_bytes(&longer, zipped.bytes, sizeof zipped.bytes);
    expect_refused(&zipped, ONS_INVALID_DATA, "more compressed data");

    buffer huge = make_idx(14, 65535, 65535, 100);
    zipped.size = gzip_bytes(&huge, zipped.bytes, sizeof zipped.bytes);
    expect_refused(&zipped, ONS_INVALID_DATA, "more than");

    buffer text = {5, "hello"};
    zipped.size = gzip_bytes(&text, zipped.bytes, sizeof zipped.bytes);
    expect_refused(&zipped, ONS_UNSUPPORTED, "not an idx file");
}

Test(array, idx_ranks) {
    buffer idx = {6, {0, 0, 8, 200, 1, 1}};
    expect_refused(&idx, ONS_UNSUPPORTED, "dimensions");
    idx.bytes[3] = 3;
    expect_refused(&idx, ONS_INVALID_DATA, "truncated");
}
