#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/dataset.h"
#include "runtime/data/npy.h"
#include "runtime/data/tokens.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(tokens, .init = scratch_make, .fini = scratch_remove);

static const uint16_t nine[9] = {10, 11, 12, 13, 14, 15, 16, 17, 65535};

static ons_dataset *open_windows(const char *path, ons_dtype dtype) {
    ons_tokens tokens;
    ons_dataset *dataset;
    expect_success(ons_tokens_open(path, dtype, 4, &tokens));
    cr_expect_eq(tokens.windows, 2);
    expect_success(ons_dataset_new(&dataset));
    expect_success(ons_dataset_add_tokens(dataset, "ids", "target", path, &tokens));
    cr_expect_eq(ons_dataset_count(dataset), 2);
    return dataset;
}

static const uint64_t last_first[2] = {1, 0};

static void expect_ids(ons_dataset *dataset, uint32_t field, const int64_t expected[8]) {
    ons_type type = ons_dataset_sample_type(dataset, field);
    char text[ONS_TYPE_TEXT];
    cr_expect_str_eq(ons_type_print(&type, text), "int64[4]");
    int64_t ids[8];
    expect_success(ons_dataset_gather(dataset, field, last_first, 2, &type, ids));
    cr_expect_arr_eq(ids, expected, sizeof ids);
}

static void expect_targets(ons_dataset *dataset, int64_t ignored, uint64_t expected) {
    uint64_t counted;
    expect_success(ons_dataset_count_targets(dataset, 1, last_first, 2, ignored, &counted));
    cr_expect_eq(counted, expected);
}

static void expect_windows(const char *path, ons_dtype dtype) {
    ons_dataset *dataset = open_windows(path, dtype);
    expect_ids(dataset, 0, (const int64_t[]){14, 15, 16, 17, 10, 11, 12, 13});
    expect_ids(dataset, 1, (const int64_t[]){15, 16, 17, 65535, 11, 12, 13, 14});
    expect_targets(dataset, -100, 8);
    expect_targets(dataset, 13, 7);
    ons_dataset_free(dataset);
}

Test(tokens, raw) {
    scratch_write(scratch_path("t.bin"), nine, sizeof nine);
    expect_windows(scratch_path("t.bin"), ONS_NO_DTYPE);
    uint32_t wide[9];
    for (int i = 0; i < 9; ++i) wide[i] = nine[i];
    scratch_write(scratch_path("t.u32"), wide, sizeof wide);
    expect_windows(scratch_path("t.u32"), ONS_NO_DTYPE);
    scratch_write(scratch_path("t.dat"), wide, sizeof wide);
    expect_windows(scratch_path("t.dat"), ONS_UINT32);
}

static void write_llmc(const char *path, int32_t magic, int32_t version, int32_t count, const void *tokens,
                       size_t size) {
    int32_t header[256] = {magic, version, count};
    char *bytes = malloc(sizeof header + size);
    memcpy(bytes, header, sizeof header);
    memcpy(bytes + sizeof header, tokens, size);
    scratch_write(path, bytes, sizeof header + size);
    free(bytes);
}

Test(tokens, llmc) {
    uint32_t wide[9];
    for (int i = 0; i < 9; ++i) wide[i] = nine[i];
    const char *path = scratch_path("t.bin");
    write_llmc(path, 20240520, 1, 9, nine, sizeof nine);
    expect_windows(path, ONS_NO_DTYPE);
    write_llmc(path, 20240801, 7, 9, wide, sizeof wide);
    expect_windows(path, ONS_NO_DTYPE);
    ons_tokens tokens;
    write_llmc(path, 20240520, 1, 10, nine, sizeof nine);
    expect_failure(ons_tokens_open(path, ONS_NO_DTYPE, 4, &tokens), ONS_INVALID_DATA, "truncated");
    write_llmc(path, 20240520, 1, -1, nine, sizeof nine);
    expect_failure(ons_tokens_open(path, ONS_NO_DTYPE, 4, &tokens), ONS_INVALID_DATA, "truncated");
    write_llmc(path, 20240520, 2, 9, nine, sizeof nine);
    expect_failure(ons_tokens_open(path, ONS_NO_DTYPE, 4, &tokens), ONS_UNSUPPORTED, "version 2");
}

Test(tokens, numpy_and_text) {
    ons_type type = ons_type_make(ONS_UINT16, ons_shape_make(1, (const int64_t[]){9}));
    expect_success(ons_npy_save(scratch_path("t.npy"), &type, nine));
    expect_windows(scratch_path("t.npy"), ONS_NO_DTYPE);
    float numbers[9] = {0};
    type.dtype = ONS_FLOAT32;
    ons_tokens tokens;
    expect_success(ons_npy_save(scratch_path("t.npy"), &type, numbers));
    expect_failure(ons_tokens_open(scratch_path("t.npy"), ONS_NO_DTYPE, 4, &tokens), ONS_INVALID_DATA, "integers");
    scratch_write(scratch_path("t.txt"), "hello", 5);
    expect_success(ons_tokens_open(scratch_path("t.txt"), ONS_NO_DTYPE, 2, &tokens));
    cr_expect_eq(tokens.windows, 2);
    ons_tokens_close(&tokens);
}

Test(tokens, refused) {
    ons_tokens tokens;
    scratch_write(scratch_path("t.bin"), nine, 9);
    expect_failure(ons_tokens_open(scratch_path("t.bin"), ONS_NO_DTYPE, 4, &tokens), ONS_INVALID_DATA, "whole number");
    scratch_write(scratch_path("t.bin"), nine, sizeof nine);
    expect_failure(ons_tokens_open(scratch_path("t.bin"), ONS_NO_DTYPE, 9, &tokens), ONS_INVALID_DATA, "too few");
    expect_failure(ons_tokens_open(scratch_path("t.bin"), ONS_NO_DTYPE, 0, &tokens), ONS_INVALID_ARGUMENT, "--seq");
    expect_failure(ons_tokens_open(scratch_path("t.bin"), ONS_NO_DTYPE, UINT64_MAX, &tokens), ONS_INVALID_ARGUMENT,
                   "--seq");
    expect_failure(ons_tokens_open(scratch_path("t.bin"), ONS_FLOAT32, 4, &tokens), ONS_INVALID_ARGUMENT, "float32");
    scratch_write(scratch_path("empty"), "", 0);
    expect_failure(ons_tokens_open(scratch_path("empty"), ONS_NO_DTYPE, 4, &tokens), ONS_INVALID_DATA, "too few");
    expect_failure(ons_tokens_open(scratch_path("missing"), ONS_NO_DTYPE, 4, &tokens), ONS_IO_ERROR, "missing");
}
