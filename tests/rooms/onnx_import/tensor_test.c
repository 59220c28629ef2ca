/* Every encoding of a tensor, and what can be wrong with each. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rooms/onnx_import/fixture.h"

/* A model with the tensor as its only initialiser, "t", which is also its output. */
static bytes holding(bytes tensor) {
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, tensor);
    put_message(&g, GRAPH_OUTPUT, value_info("t", 1, ""));
    return model(g, 17);
}

static void expect_data(bytes tensor, ons_dtype dtype, const void *data, size_t size) {
    imported m = import_bytes(holding(tensor), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_value(&m, "t")->type.dtype, dtype);
    cr_assert_eq((size_t)ons_type_dense_bytes(&find_value(&m, "t")->type), size);
    cr_assert_eq(memcmp(value_data(&m, "t"), data, size), 0);
    imported_free(&m);
}

/* `count` varints in a packed field. */
static void put_packed(bytes *b, uint32_t field, const int64_t *values, size_t count) {
    bytes packed = {0};
    for (size_t i = 0; i < count; ++i) put_varint(&packed, (uint64_t)values[i]);
    put_message(b, field, packed);
}

Test(tensor, floats) {
    const float values[] = {1.5f, -2, 3e-20f};
    expect_data(raw_tensor("t", 1, DIMS(3), values, sizeof values), ONS_FLOAT32, values, sizeof values);
    expect_data(float_tensor("t", DIMS(3), values, 3), ONS_FLOAT32, values, sizeof values);
    bytes unpacked = tensor_header("t", 1, DIMS(3));
    for (int i = 0; i < 3; ++i) put_float(&unpacked, TENSOR_FLOATS, values[i]);
    expect_data(unpacked, ONS_FLOAT32, values, sizeof values);
    bytes pieces = tensor_header("t", 1, DIMS(3));
    put_block(&pieces, TENSOR_FLOATS, values, 8);
    put_block(&pieces, TENSOR_FLOATS, values + 2, 4);
    expect_data(pieces, ONS_FLOAT32, values, sizeof values);
}

Test(tensor, doubles) {
    const double values[] = {1.5, -2};
    bytes typed = tensor_header("t", 11, DIMS(2));
    put_block(&typed, TENSOR_DOUBLES, values, sizeof values);
    expect_data(typed, ONS_FLOAT64, values, sizeof values);
    expect_data(raw_tensor("t", 11, DIMS(2), values, sizeof values), ONS_FLOAT64, values, sizeof values);
}

Test(tensor, integers) {
    const int64_t wide[] = {-1, INT64_MAX, INT64_MIN, 0};
    bytes t = tensor_header("t", 7, DIMS(4));
    put_packed(&t, TENSOR_INT64S, wide, 4);
    expect_data(t, ONS_INT64, wide, sizeof wide);
    const int64_t small[] = {-1, 100, -128, 127};
    t = tensor_header("t", 3, DIMS(4));
    put_packed(&t, TENSOR_INT32S, small, 4);
    expect_data(t, ONS_INT8, (const int8_t[]){-1, 100, -128, 127}, 4);
    t = tensor_header("t", 6, DIMS(4));
    put_packed(&t, TENSOR_INT32S, small, 4);
    expect_data(t, ONS_INT32, (const int32_t[]){-1, 100, -128, 127}, 16);
    t = tensor_header("t", 5, DIMS(2, 2));
    put_packed(&t, TENSOR_INT32S, small, 4);
    expect_data(t, ONS_INT16, (const int16_t[]){-1, 100, -128, 127}, 8);
    const int64_t natural[] = {1, 200, 255};
    t = tensor_header("t", 2, DIMS(3));
    put_packed(&t, TENSOR_INT32S, natural, 3);
    expect_data(t, ONS_UINT8, (const uint8_t[]){1, 200, 255}, 3);
    t = tensor_header("t", 12, DIMS(3));
    put_packed(&t, TENSOR_UINT64S, natural, 3);
    expect_data(t, ONS_UINT32, (const uint32_t[]){1, 200, 255}, 12);
    t = tensor_header("t", 13, DIMS(3));
    put_packed(&t, TENSOR_UINT64S, natural, 3);
    expect_data(t, ONS_UINT64, (const uint64_t[]){1, 200, 255}, 24);
    t = tensor_header("t", 9, DIMS(2));
    put_packed(&t, TENSOR_INT32S, (const int64_t[]){1, 0}, 2);
    expect_data(t, ONS_BOOL, (const uint8_t[]){1, 0}, 2);
}

Test(tensor, half_and_bfloat_are_bit_patterns) {
    const int64_t bits[] = {0x3c00, 0xbc00};
    bytes t = tensor_header("t", 10, DIMS(2));
    put_packed(&t, TENSOR_INT32S, bits, 2);
    expect_data(t, ONS_FLOAT16, (const uint16_t[]){0x3c00, 0xbc00}, 4);
    t = tensor_header("t", 16, DIMS(2));
    put_packed(&t, TENSOR_INT32S, bits, 2);
    expect_data(t, ONS_BFLOAT16, (const uint16_t[]){0x3c00, 0xbc00}, 4);
}

/* Large enough that the payload stays in the mapping. */
Test(tensor, large_payloads) {
    enum { COUNT = 5000 };
    static float floats[COUNT];
    static int64_t integers[COUNT];
    static int32_t narrow[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        floats[i] = (float)i;
        integers[i] = i % 2 ? -i : i * 1000000007ll;
        narrow[i] = (int32_t)(i % 2 ? -i : i);
    }
    expect_data(raw_tensor("t", 1, DIMS(COUNT), floats, sizeof floats), ONS_FLOAT32, floats, sizeof floats);
    expect_data(float_tensor("t", DIMS(COUNT), floats, COUNT), ONS_FLOAT32, floats, sizeof floats);
    bytes t = tensor_header("t", 7, DIMS(COUNT));
    put_packed(&t, TENSOR_INT64S, integers, COUNT);
    expect_data(t, ONS_INT64, integers, sizeof integers);
    static int64_t widened[COUNT];
    for (int i = 0; i < COUNT; ++i) widened[i] = narrow[i];
    t = tensor_header("t", 6, DIMS(COUNT));
    put_packed(&t, TENSOR_INT32S, widened, COUNT);
    expect_data(t, ONS_INT32, narrow, sizeof narrow);
    t = tensor_header("t", 7, DIMS(COUNT + 1));
    put_packed(&t, TENSOR_INT64S, integers, COUNT);
    expect_failure(holding(t), ONS_INVALID_MODEL, "fewer elements");
    t = tensor_header("t", 7, DIMS(COUNT - 1));
    put_packed(&t, TENSOR_INT64S, integers, COUNT);
    expect_failure(holding(t), ONS_INVALID_MODEL, "more elements");
}

Test(tensor, empty) {
    expect_data(tensor_header("t", 1, DIMS(0, 3)), ONS_FLOAT32, "", 0);
    expect_data(raw_tensor("t", 7, DIMS(0), "", 0), ONS_INT64, "", 0);
}

Test(tensor, sizes_that_do_not_fit) {
    const float values[] = {1, 2, 3};
    expect_failure(holding(raw_tensor("t", 1, DIMS(4), values, 12)), ONS_INVALID_MODEL, "'t': it has 12 bytes");
    expect_failure(holding(float_tensor("t", DIMS(2), values, 3)), ONS_INVALID_MODEL, "its shape needs 8");
    expect_failure(holding(tensor_header("t", 1, DIMS(2))), ONS_INVALID_MODEL, "it has 0 bytes");
    expect_failure(holding(tensor_header("t", 6, DIMS(2))), ONS_INVALID_MODEL, "fewer elements");
    expect_failure(holding(raw_tensor("t", 6, DIMS(1ll << 40, 1ll << 40), values, 12)), ONS_INVALID_MODEL, "'t'");
    expect_failure(holding(raw_tensor("t", 1, DIMS(-5), values, 12)), ONS_INVALID_MODEL, "'t'");
    expect_failure(holding(tensor_header("t", 6, DIMS(1ll << 50))), ONS_INVALID_MODEL, "fewer elements");
}

Test(tensor, foreign_types) {
    expect_failure(holding(raw_tensor("t", 14, DIMS(1), "12345678", 8)), ONS_UNSUPPORTED, "complex64");
    expect_failure(holding(raw_tensor("t", 15, DIMS(1), "1", 1)), ONS_UNSUPPORTED, "complex128");
    expect_failure(holding(raw_tensor("t", 8, DIMS(1), "1", 1)), ONS_UNSUPPORTED, "string");
    expect_failure(holding(raw_tensor("t", 99, DIMS(1), "1", 1)), ONS_UNSUPPORTED, "(99)");
    expect_failure(holding(raw_tensor("t", 0, DIMS(1), "1", 1)), ONS_INVALID_MODEL, "no element type");
    expect_failure(holding(raw_tensor("t", 1, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), "1234", 4)), ONS_UNSUPPORTED,
                   "9 dimensions");
}

/* ---------------------------------------------------------------------------------------------------- external data */

static char folder[64];

static void save(const char *name, bytes b) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, b.data, b.count);
    bytes_free(&b);
}

static imported import_saved(const ons_import_options *options) {
    char path[128];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    return import_path(path, options);
}

static void expect_external(bytes tensor, ons_status_code code, const char *words) {
    save("model.onnx", holding(tensor));
    imported m = import_saved(NULL);
    cr_expect_not_null(strstr(m.message, words), "expected '%s' in '%s'", words, m.message);
    cr_expect_eq(m.code, code);
    imported_free(&m);
}

static void make_data(void) {
    make_folder(folder);
    bytes data = {0};
    for (int i = 0; i < 1000; ++i) put_raw(&data, &(float){(float)i}, 4);
    save("weights.bin", data);
}

static void remove_data(void) { remove_folder(folder); }

TestSuite(external, .init = make_data, .fini = remove_data);

Test(external, offset_and_length) {
    save("model.onnx", holding(external_tensor("t", 1, DIMS(500), "weights.bin", "400", "2000")));
    imported m = import_saved(NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(((const float *)value_data(&m, "t"))[1], 101);
    imported_free(&m);
    save("model.onnx", holding(external_tensor("t", 1, DIMS(10), "./weights.bin", NULL, NULL)));
    m = import_saved(NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(((const float *)value_data(&m, "t"))[9], 9);
    imported_free(&m);
}

Test(external, numbers_that_do_not_fit) {
    expect_external(external_tensor("t", 1, DIMS(500), "weights.bin", "0", "1999"), ONS_INVALID_MODEL,
                    "its shape needs 2000");
    expect_external(external_tensor("t", 1, DIMS(500), "weights.bin", "2004", NULL), ONS_INVALID_MODEL,
                    "behind the end");
    expect_external(external_tensor("t", 1, DIMS(500), "weights.bin", "18446744073709551615", NULL), ONS_INVALID_MODEL,
                    "behind the end");
    expect_external(external_tensor("t", 1, DIMS(500), "weights.bin", "99999999999999999999", NULL), ONS_INVALID_MODEL,
                    "no number");
    expect_external(external_tensor("t", 1, DIMS(500), "weights.bin", "-4", NULL), ONS_INVALID_MODEL, "no number");
    expect_external(external_tensor("t", 1, DIMS(500), NULL, "0", NULL), ONS_INVALID_MODEL, "no location");
}

Test(external, missing_file) {
    expect_external(external_tensor("t", 1, DIMS(5), "nothing.bin", NULL, NULL), ONS_IO_ERROR, "'nothing.bin'");
    ons_import_options options = {.allow_missing_data = true};
    imported m = import_saved(&options);
    cr_assert_str_eq(m.message, "");
    cr_assert_null(value_data(&m, "t"));
    cr_assert_eq(find_value(&m, "t")->kind, ONS_PARAMETER);
    imported_free(&m);
}

Test(external, places_outside_of_the_folder) {
    const char *const locations[] = {"../secret.bin", "/etc/passwd", "a/../../secret.bin", "..", "", "sub/.."};
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; ++i)
        expect_external(external_tensor("t", 1, DIMS(5), locations[i], NULL, NULL), ONS_INVALID_MODEL,
                        "model's folder");
    char link[128];
    snprintf(link, sizeof link, "%s/link.bin", folder);
    cr_assert_eq(symlink("/etc/passwd", link), 0);
    expect_external(external_tensor("t", 1, DIMS(5), "link.bin", NULL, NULL), ONS_INVALID_MODEL, "a link that leaves");
    /* A refused path stays refused where missing data is fine. */
    ons_import_options options = {.allow_missing_data = true};
    imported m = import_saved(&options);
    cr_assert_neq(m.message[0], '\0');
    imported_free(&m);
}

Test(external, links_inside_and_folders) {
    char link[128];
    snprintf(link, sizeof link, "%s/inside.bin", folder);
    cr_assert_eq(symlink("weights.bin", link), 0);
    save("model.onnx", holding(external_tensor("t", 1, DIMS(5), "inside.bin", NULL, NULL)));
    imported m = import_saved(NULL);
    cr_assert_str_eq(m.message, "");
    imported_free(&m);
    snprintf(link, sizeof link, "%s/sub", folder);
    cr_assert_eq(mkdir(link, 0777), 0);
    expect_external(external_tensor("t", 1, DIMS(5), "sub", NULL, NULL), ONS_IO_ERROR, "folder");
}

Test(external, from_memory_there_is_none) {
    expect_failure(holding(external_tensor("t", 1, DIMS(5), "weights.bin", NULL, NULL)), ONS_IO_ERROR, "not in a file");
}
