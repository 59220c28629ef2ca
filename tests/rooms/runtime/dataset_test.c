#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/data/convert.h"
#include "runtime/data/dataset.h"
#include "runtime/data/npy.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(dataset, .init = scratch_make, .fini = scratch_remove);

static ons_type make_type(ons_dtype dtype, uint32_t rank, const int64_t *dims) {
    return ons_type_make(dtype, ons_shape_make(rank, dims));
}
#define TYPE(DTYPE, ...)                                                                                               \
    make_type(DTYPE, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static const uint8_t pixels[4 * 6] = {0,  1,  2,  3,  4,  5,  10, 11, 12, 13, 14, 15,
                                      20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34, 255};
static const int64_t labels[4] = {7, -100, 9, 8};

static ons_dataset *make_dataset(void) {
    ons_dataset *dataset;
    ons_type images = TYPE(ONS_UINT8, 4, 2, 3), targets = TYPE(ONS_INT64, 4);
    expect_success(ons_dataset_new(&dataset));
    expect_success(ons_dataset_add_memory(dataset, "x", &images, pixels));
    expect_success(ons_dataset_add_memory(dataset, "target", &targets, labels));
    return dataset;
}

Test(dataset, gathers_converts_reshapes) {
    ons_dataset *dataset = make_dataset();
    cr_expect_eq(ons_dataset_count(dataset), 4);
    cr_expect_eq(ons_dataset_find(dataset, "target"), 1);
    cr_expect_eq(ons_dataset_find(dataset, "y"), ONS_NO_FIELD);
    ons_type wanted = TYPE(ONS_FLOAT32, 1, 2, 3);
    float x[12];
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){3, 1}, 2, &wanted, x));
    cr_expect_eq(x[0], 30);
    cr_expect_eq(x[5], 255);
    cr_expect_eq(x[6], 10);
    ons_type scalar = ons_type_make(ONS_INT64, (ons_shape){0});
    int64_t y[3];
    expect_success(ons_dataset_gather(dataset, 1, (const uint64_t[]){2, 2, 0}, 3, &scalar, y));
    cr_expect_arr_eq(y, ((const int64_t[]){9, 9, 7}), sizeof y);
    uint64_t counted;
    expect_success(ons_dataset_count_targets(dataset, 1, (const uint64_t[]){0, 1, 2}, 3, -100, &counted));
    cr_expect_eq(counted, 2);
    expect_failure(ons_dataset_gather(dataset, 1, (const uint64_t[]){4}, 1, &scalar, y), ONS_DEFECT, "4 of 4");
    ons_dataset_free(dataset);
}

Test(dataset, selects_rows_like_python) {
    static const struct {
        const char *rows;
        uint64_t count;
        int64_t first;
    } cases[] = {{"0:2", 2, 7}, {"2:", 2, 9},     {":-1", 3, 7},     {"-1:", 1, 8},
                 {":", 4, 7},   {"-99:99", 4, 7}, {"-3:-2", 1, -100}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ons_dataset *dataset = make_dataset();
        expect_success(ons_dataset_select(dataset, "rows", cases[i].rows));
        cr_expect_eq(ons_dataset_count(dataset), cases[i].count, "%s", cases[i].rows);
        ons_type scalar = ons_type_make(ONS_INT64, (ons_shape){0});
        int64_t y;
        expect_success(ons_dataset_gather(dataset, 1, (const uint64_t[]){0}, 1, &scalar, &y));
        cr_expect_eq(y, cases[i].first, "%s", cases[i].rows);
        ons_dataset_free(dataset);
    }
    ons_dataset *dataset = make_dataset();
    static const char *const bad[] = {"", "3", "a:b", "1:2:3", "1 :2", ":99999999999999999999", "--1:"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        expect_failure(ons_dataset_select(dataset, "rows", bad[i]), ONS_INVALID_ARGUMENT, "expected A:B");
    expect_failure(ons_dataset_select(dataset, "rows", "2:2"), ONS_INVALID_DATA, "leaves none of 4");
    expect_failure(ons_dataset_select(dataset, "rows", "-9223372036854775808:-9223372036854775808"), ONS_INVALID_DATA,
                   "leaves none");
    expect_success(ons_dataset_select(dataset, "rows", "1:"));
    expect_success(ons_dataset_select(dataset, "rows", "1:"));
    cr_expect_eq(ons_dataset_count(dataset), 2);
    ons_dataset_free(dataset);
}

/* Labels of the selection, in order; returns how many. */
static uint64_t gather_labels(ons_dataset *dataset, int64_t gathered[4]) {
    ons_type scalar = ons_type_make(ONS_INT64, (ons_shape){0});
    static const uint64_t rows[] = {0, 1, 2, 3};
    expect_success(ons_dataset_gather(dataset, 1, rows, ons_dataset_count(dataset), &scalar, gathered));
    return ons_dataset_count(dataset);
}

Test(dataset, leaves_rows_out) {
    static const struct {
        const char *rows;
        uint64_t count;
        int64_t labels[4];
    } cases[] = {{":1", 3, {-100, 9, 8}},
                 {"-1:", 3, {7, -100, 9}},
                 {"1:3", 2, {7, 8}},
                 {"1:2", 3, {7, 9, 8}},
                 {"2:9", 2, {7, -100}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ons_dataset *dataset = make_dataset(), *others = make_dataset();
        int64_t gathered[4];
        uint64_t first;
        expect_success(ons_dataset_leave_out(dataset, "val-rows", cases[i].rows));
        expect_success(ons_dataset_select(others, "val-rows", cases[i].rows));
        cr_expect_eq(gather_labels(dataset, gathered), cases[i].count, "%s", cases[i].rows);
        cr_expect_arr_eq(gathered, cases[i].labels, cases[i].count * sizeof *gathered, "%s", cases[i].rows);
        cr_expect_eq(ons_dataset_overlap(dataset, others, &first), 0, "%s", cases[i].rows);
        cr_expect_neq(ons_dataset_hash_left_out(dataset, 1), 1);
        cr_expect_eq(ons_dataset_hash_left_out(others, 1), 1);
        ons_dataset_free(others);
        ons_dataset_free(dataset);
    }
    ons_dataset *dataset = make_dataset();
    expect_failure(ons_dataset_leave_out(dataset, "val-rows", ":"), ONS_INVALID_DATA, "none is left to train on");
    expect_failure(ons_dataset_leave_out(dataset, "val-rows", "1"), ONS_INVALID_ARGUMENT,
                   "--val-rows '1': expected A:B");
    ons_dataset_free(dataset);
}

Test(dataset, overlaps_on_both_sides_of_a_gap) {
    ons_dataset *dataset = make_dataset(), *others = make_dataset();
    uint64_t first;
    expect_success(ons_dataset_leave_out(dataset, "val-rows", "1:2"));
    expect_success(ons_dataset_select(others, "rows", ":-1"));
    cr_expect_eq(ons_dataset_overlap(dataset, others, &first), 2);
    cr_expect_eq(first, 0);
    cr_expect_eq(ons_dataset_overlap(others, dataset, &first), 2);
    ons_dataset_free(others);
    ons_dataset_free(dataset);
}

Test(dataset, splits_off_a_share) {
    static const struct {
        double share;
        uint64_t last;
    } cases[] = {{0.25, 1}, {0.5, 2}, {0.51, 3}, {0.01, 1}, {0.75, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        for (int last = 0; last < 2; ++last) {
            ons_dataset *dataset = make_dataset();
            int64_t gathered[4];
            uint64_t count = last ? cases[i].last : 4 - cases[i].last;
            expect_success(ons_dataset_split(dataset, "val-split", cases[i].share, last));
            cr_expect_eq(gather_labels(dataset, gathered), count, "%g", cases[i].share);
            cr_expect_eq(gathered[0], labels[last ? 4 - count : 0]);
            ons_dataset_free(dataset);
        }
    ons_dataset *dataset = make_dataset();
    expect_failure(ons_dataset_split(dataset, "val-split", 0.9, false), ONS_INVALID_DATA, "takes 4 of 4 samples");
    ons_dataset_free(dataset);
}

Test(dataset, normalizes) {
    ons_dataset *dataset = make_dataset();
    float x[6];
    ons_type wanted = TYPE(ONS_FLOAT32, 1, 2, 3);
    expect_success(ons_dataset_normalize(dataset, "x", "1.5,-2e0"));
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){0}, 1, &wanted, x));
    for (int i = 0; i < 6; ++i) cr_expect_eq(x[i], ((float)i - 1.5f) / -2.0f);
    expect_success(ons_dataset_normalize(dataset, "x", "1,2,10,20")); /* two channels, first */
    wanted = TYPE(ONS_FLOAT32, 2, 3);
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){0}, 1, &wanted, x));
    cr_expect_eq(x[2], 0.1f);
    cr_expect_eq(x[5], 3 / 20.0f);
    expect_success(ons_dataset_normalize(dataset, "x", "1,2,3,10,20,30")); /* three, last */
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){0}, 1, &wanted, x));
    cr_expect_eq(x[0], -0.1f);
    cr_expect_eq(x[5], 2 / 30.0f);
    expect_success(ons_dataset_normalize(dataset, "x", "1,2,3,4,10,20,30,40"));
    expect_failure(ons_dataset_check(dataset, 0, &wanted), ONS_INVALID_ARGUMENT, "4 channels");
    wanted.dtype = ONS_FLOAT64;
    expect_failure(ons_dataset_check(dataset, 0, &wanted), ONS_INVALID_ARGUMENT, "only float32");
    static const char *const bad[] = {"", "1", "1,0", "1,2,3", "1,x", "nan,1", "1,2,", "1;2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        expect_failure(ons_dataset_normalize(dataset, "x", bad[i]), ONS_INVALID_ARGUMENT, "expected MEAN,STD");
    expect_failure(ons_dataset_normalize(dataset, "y", "1,2"), ONS_INVALID_ARGUMENT, "no data are given");
    ons_dataset_free(dataset);
}

Test(dataset, says_what_does_not_fit) {
    ons_dataset *dataset = make_dataset();
    ons_type images = TYPE(ONS_FLOAT32, 5, 2), scalar = ons_type_make(ONS_FLOAT32, (ons_shape){0});
    float numbers[10] = {0};
    expect_failure(ons_dataset_add_memory(dataset, "z", &images, numbers), ONS_INVALID_DATA,
                   "'z' has 5 samples, 'x' has 4");
    expect_failure(ons_dataset_add_memory(dataset, "z", &scalar, numbers), ONS_INVALID_DATA, "count the samples");
    images.shape.dims[0] = 4;
    expect_failure(ons_dataset_add_memory(dataset, "x", &images, numbers), ONS_INVALID_ARGUMENT, "given twice");
    expect_success(ons_dataset_add_memory(dataset, "z", &images, numbers));
    ons_type wanted = TYPE(ONS_FLOAT32, 3, 3);
    expect_failure(ons_dataset_check(dataset, 0, &wanted), ONS_INVALID_DATA,
                   "'x': a sample for 'x' is uint8[2,3] with 6 elements, wanted is float32[3,3] with 9");
    wanted = TYPE(ONS_FLOAT32, 3, 2);
    expect_failure(ons_dataset_check(dataset, 0, &wanted), ONS_INVALID_DATA,
                   "is uint8[2,3], wanted is float32[3,2]: the axes");
    const ons_type alike[] = {TYPE(ONS_FLOAT32, 6), TYPE(ONS_FLOAT32, 1, 2, 3), TYPE(ONS_FLOAT32, 2, 1, 3, 1),
                              TYPE(ONS_FLOAT32, 1, 6)};
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; ++i)
        expect_success(ons_dataset_check(dataset, 0, &alike[i]));
    wanted = TYPE(ONS_INT64, 2);
    expect_failure(ons_dataset_check(dataset, 2, &wanted), ONS_INVALID_DATA, "astype('int64')");
    images.shape.dims[0] = 0;
    expect_failure(ons_dataset_add_memory(dataset, "w", &images, numbers), ONS_INVALID_DATA, "no samples");
    wanted = TYPE(ONS_UINT8, 1);
    uint8_t byte;
    expect_failure(ons_dataset_gather(dataset, 1, (const uint64_t[]){1}, 1, &wanted, &byte), ONS_INVALID_DATA,
                   "sample 1 holds a number that does not fit");
    ons_dataset_free(dataset);
}

Test(dataset, takes_over_arrays) {
    ons_type type = TYPE(ONS_FLOAT64, 3, 2);
    expect_success(ons_npy_save(scratch_path("x.npy"), &type, (const double[]){1, 2, 3, 4, NAN, 6}));
    ons_array array;
    ons_dataset *dataset;
    expect_success(ons_dataset_new(&dataset));
    expect_success(ons_array_open(scratch_path("x.npy"), NULL, &array));
    expect_success(ons_dataset_add_array(dataset, "x", "x.npy", &array));
    cr_expect_null(array.data);
    expect_success(ons_array_open(scratch_path("x.npy"), NULL, &array));
    expect_failure(ons_dataset_add_array(dataset, "x", "x.npy", &array), ONS_INVALID_ARGUMENT, "given twice");
    cr_expect_null(array.data);
    float x[2];
    ons_type wanted = TYPE(ONS_FLOAT32, 2);
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){2}, 1, &wanted, x));
    cr_expect(isnan(x[0]) && x[1] == 6, "values that are no numbers are let in");
    ons_dataset_free(dataset);
}

/* Someone else cuts the file short while it is in use: a failure, no signal, and what is still there can be read. */
static void check_cut_short(ons_dtype wanted_type) {
    ons_type type = TYPE(ONS_FLOAT32, 4, 600), wanted = TYPE(wanted_type, 600);
    const char *path = scratch_path("cut.npy");
    static float values[4 * 600];
    static double sample[600];
    for (int i = 0; i < 4 * 600; ++i) values[i] = (float)i;
    expect_success(ons_npy_save(path, &type, values));
    ons_array array;
    ons_dataset *dataset;
    expect_success(ons_dataset_new(&dataset));
    expect_success(ons_array_open(path, NULL, &array));
    expect_success(ons_dataset_add_array(dataset, "x", path, &array));
    cr_assert_eq(truncate(path, 128 + 2 * 600 * 4), 0);
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){1}, 1, &wanted, sample));
    cr_expect_eq(wanted_type == ONS_FLOAT64 ? sample[599] : ((float *)sample)[599], 1199);
    expect_failure(ons_dataset_gather(dataset, 0, (const uint64_t[]){3}, 1, &wanted, sample), ONS_IO_ERROR,
                   "cut.npy': it has become shorter while it was in use");
    ons_dataset_free(dataset);
}

Test(dataset, cut_short) { check_cut_short(ONS_FLOAT32); }
Test(dataset, cut_short_and_converted) { check_cut_short(ONS_FLOAT64); }

static size_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    cr_assert_eq(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* 8 GiB, of which 600 MiB are read: the process must stay small. */
Test(dataset, larger_than_memory) {
    enum { ROW = 1 << 20, ROWS = 8192 };
    const char *path = scratch_path("large.npy");
    ons_type empty = TYPE(ONS_UINT8, 0, ROW);
    expect_success(ons_npy_save(path, &empty, ""));
    int file = open(path, O_RDWR);
    char header[128 + 1] = {0}; /* ends as a text */
    cr_assert_eq(pread(file, header, 128, 0), 128);
    char *shape = strstr(header + 10, "(0, 1048576), }   ");
    cr_assert_not_null(shape);
    memcpy(shape, "(8192, 1048576), }", 18);
    cr_assert_eq(pwrite(file, header, 128, 0), 128);
    cr_assert_eq(ftruncate(file, 128 + (off_t)ROW * ROWS), 0);
    cr_assert_eq(pwrite(file, "\x2a", 1, 128 + (off_t)ROW * ROWS - 1), 1);
    close(file);

    ons_array array;
    ons_dataset *dataset;
    ons_type wanted = TYPE(ONS_UINT8, ROW);
    uint8_t *sample = malloc(ROW);
    expect_success(ons_array_open(path, NULL, &array));
    cr_expect_eq(array.type.shape.dims[0], ROWS);
    expect_success(ons_dataset_new(&dataset));
    expect_success(ons_dataset_add_array(dataset, "x", path, &array));
    size_t before = resident_bytes(), most = 0;
    for (uint64_t i = 0; i < 600; ++i) {
        expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){i * 13 % ROWS}, 1, &wanted, sample));
        size_t now = resident_bytes();
        most = now > most ? now : most;
    }
    cr_expect_lt(most, before + (100 << 20), "%zu MiB more", (most - before) >> 20);
    expect_success(ons_dataset_gather(dataset, 0, (const uint64_t[]){ROWS - 1}, 1, &wanted, sample));
    cr_expect_eq(sample[ROW - 1], 42);
    free(sample);
    ons_dataset_free(dataset);
}

/* ---------------------------------------------------------------------------------------------------------- convert */

static const ons_dtype all_dtypes[] = {ONS_FLOAT32, ONS_FLOAT64, ONS_FLOAT16, ONS_BFLOAT16, ONS_INT8,
                                       ONS_INT16,   ONS_INT32,   ONS_INT64,   ONS_UINT8,    ONS_UINT16,
                                       ONS_UINT32,  ONS_UINT64,  ONS_BOOL};
enum { ALL = sizeof all_dtypes / sizeof all_dtypes[0] };

/* Small numbers survive the way from any type to any other, at any alignment. */
Test(convert, every_pair) {
    enum { COUNT = 1000 };
    static const uint8_t bits[COUNT] = {[1] = 1, [3] = 1, [999] = 1};
    static char from[COUNT * 8 + 1], to[COUNT * 8 + 1];
    uint8_t back[COUNT];
    for (int i = 0; i < ALL; ++i) {
        for (int j = 0; j < ALL; ++j) {
            bool expected = !ons_dtype_is_float(all_dtypes[i]) || ons_dtype_is_float(all_dtypes[j]);
            cr_expect_eq(ons_convert_possible(all_dtypes[i], all_dtypes[j]), expected, "%s to %s",
                         ons_dtype_name(all_dtypes[i]), ons_dtype_name(all_dtypes[j]));
            cr_assert(ons_convert(ONS_UINT8, bits, all_dtypes[i], from + 1, COUNT));
            cr_assert_eq(ons_convert(all_dtypes[i], from + 1, all_dtypes[j], to + 1, COUNT), expected);
            if (!expected || ons_dtype_is_float(all_dtypes[j])) continue;
            cr_assert(ons_convert(all_dtypes[j], to + 1, ONS_UINT8, back, COUNT));
            cr_expect_arr_eq(back, bits, COUNT, "%s to %s", ons_dtype_name(all_dtypes[i]),
                             ons_dtype_name(all_dtypes[j]));
        }
    }
    cr_expect_not(ons_convert_possible(ONS_STRING, ONS_INT64));
    cr_expect_not(ons_convert_possible(ONS_FLOAT32, ONS_NO_DTYPE));
}

Test(convert, integers_that_do_not_fit) {
    char out[8];
    cr_expect(ons_convert(ONS_INT64, &(int64_t){-100}, ONS_INT32, out, 1));
    cr_expect(ons_convert(ONS_INT64, &(int64_t){INT32_MIN}, ONS_INT32, out, 1));
    cr_expect_not(ons_convert(ONS_INT64, &(int64_t){INT32_MAX + INT64_C(1)}, ONS_INT32, out, 1));
    cr_expect_not(ons_convert(ONS_INT8, &(int8_t){-1}, ONS_UINT64, out, 1));
    cr_expect_not(ons_convert(ONS_UINT64, &(uint64_t){UINT64_MAX}, ONS_INT64, out, 1));
    cr_expect_not(ons_convert(ONS_UINT32, &(uint32_t){UINT32_MAX}, ONS_INT32, out, 1));
    cr_expect_not(ons_convert(ONS_INT16, &(int16_t){128}, ONS_INT8, out, 1));
    cr_expect(ons_convert(ONS_INT16, &(int16_t){-128}, ONS_INT8, out, 1));
    cr_expect(ons_convert(ONS_INT64, &(int64_t){256}, ONS_BOOL, out, 1));
    cr_expect_eq(out[0], 1);
}

Test(convert, short_floats) {
    float x[3] = {1.5f, -INFINITY, 65504}, y[3];
    uint16_t half[3], brain[3];
    double d[3];
    cr_expect(ons_convert(ONS_FLOAT32, x, ONS_FLOAT16, half, 3));
    cr_expect(ons_convert(ONS_FLOAT16, half, ONS_FLOAT32, y, 3));
    cr_expect_arr_eq(x, y, sizeof x);
    cr_expect(ons_convert(ONS_FLOAT16, half, ONS_BFLOAT16, brain, 3));
    cr_expect(ons_convert(ONS_BFLOAT16, brain, ONS_FLOAT64, d, 3));
    cr_expect_eq(d[0], 1.5);
    cr_expect_eq(d[2], 65536);
}
