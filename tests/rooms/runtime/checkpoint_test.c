/* Checkpoints and the safetensors files in them: good, damaged, interrupted, and on a full disk. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(checkpoint, .init = scratch_make, .fini = scratch_remove);
TestSuite(safetensors, .init = scratch_make, .fini = scratch_remove);

static ons_named_tensor make_tensor(const char *name, ons_dtype dtype, int64_t count, const void *data) {
    ons_type type = ons_type_make(dtype, ons_shape_make(1, &count));
    return (ons_named_tensor){name, {type, data}};
}

/* ------------------------------------------------------------------------------------------------------ safetensors */

static ons_status *fill_with_name(void *context, const char *name, int64_t offset, void *buffer, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) ((char *)buffer)[i] = (char)((offset + (int64_t)i) * 7 + name[0]);
    return NULL;
}

Test(safetensors, written_and_read) {
    enum { LARGE = 3 << 20 };
    const ons_named_tensor tensors[] = {
        make_tensor("bytes", ONS_UINT8, 3, "abc"),
        make_tensor("conv.weight#exp_avg \"\xc3\xa4\"", ONS_FLOAT32, 2, (const float[]){1, 2}),
        make_tensor("empty", ONS_INT64, 0, ""),
        make_tensor("large", ONS_BOOL, LARGE, NULL),
        make_tensor("wide", ONS_FLOAT64, 1, (const double[]){3}),
        {"scalar", {ons_type_make(ONS_BFLOAT16, (ons_shape){0}), "xy"}},
    };
    ons_safetensors_content content = {tensors, 6, fill_with_name, NULL};
    ons_file_writer *writer;
    const char *path = scratch_path("t.safetensors");
    expect_success(ons_file_writer_open(path, &writer));
    expect_success(ons_safetensors_write(writer, &content, NULL));
    expect_success(ons_file_commit(writer));

    ons_mapping mapping;
    ons_safetensors file;
    expect_success(ons_mapping_open(path, &mapping));
    expect_success(ons_safetensors_parse(mapping.bytes, mapping.size, &file));
    cr_expect_eq(file.count, 6);
    for (int i = 0; i < 6; ++i) {
        const ons_tensor *tensor = ons_safetensors_find(&file, tensors[i].name);
        cr_assert_not_null(tensor, "%s", tensors[i].name);
        cr_expect(ons_type_equal(&tensor->type, &tensors[i].tensor.type));
        cr_expect_eq((uintptr_t)tensor->data % ons_dtype_size(tensor->type.dtype), 0);
        if (tensors[i].tensor.data != NULL)
            cr_expect_eq(memcmp(tensor->data, tensors[i].tensor.data, (size_t)ons_type_dense_bytes(&tensor->type)), 0);
    }
    const char *large = ons_safetensors_find(&file, "large")->data;
    cr_expect_eq(large[LARGE - 1], (char)((LARGE - 1) * 7 + 'l'));
    cr_expect_null(ons_safetensors_find(&file, "other"));
    ons_safetensors_free(&file);
    ons_mapping_close(&mapping);
}

static ons_status *parse_header(const char *header, size_t data, uint64_t announced) {
    size_t length = strlen(header);
    uint8_t *bytes = malloc(8 + length + data);
    memcpy(bytes, &announced, 8);
    for (size_t i = 0; i < length; ++i) bytes[8 + i] = (uint8_t)header[i];
    memset(bytes + 8 + length, 1, data);
    ons_safetensors file;
    ons_status *status = ons_safetensors_parse(bytes, 8 + length + data, &file);
    ons_safetensors_free(&file);
    free(bytes);
    return status;
}

Test(safetensors, strict) {
    static const struct {
        const char *header;
        size_t data;
        const char *part; /* NULL: fine */
    } cases[] = {
        {"{}", 0, NULL},
        {"{\"__metadata__\":{\"a\":\"b\"}}  ", 0, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, "truncated"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "1 bytes after"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}", 5, "gap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "disagree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "begin and an end"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "begin and an end"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.5,4.5]}}", 4, "begin and an end"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "'shape' is impossible"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "'shape' is impossible"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e300],\"data_offsets\":[0,0]}}", 0, "whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, "dimensions"},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'F33'"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, "tensor 'b': its data overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
         4, "twice"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "tensor 'a': 'dtype' is missing"},
        {"{\"a\":7}", 0, "not an object"},
        {"[]", 0, "not an object"},
        {"{", 0, "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ons_status *status = parse_header(cases[i].header, cases[i].data, strlen(cases[i].header));
        if (cases[i].part == NULL)
            expect_success(status);
        else
            expect_failure(status, ons_status_get_code(status), cases[i].part);
    }
    expect_failure(parse_header("{}", 0, 3), ONS_INVALID_DATA, "header would have 3 bytes");
    expect_failure(parse_header("{}", 0, UINT64_MAX), ONS_INVALID_DATA, "header would have");
    ons_safetensors file;
    expect_failure(ons_safetensors_parse((const uint8_t *)"1234567", 7, &file), ONS_INVALID_DATA, "too short");
    ons_safetensors_free(&file);
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

enum { ELEMENTS = 1 << 18 };

/* A checkpoint whose tensors say which step they are of. */
static ons_status *save(const char *folder, uint64_t step, uint32_t keep) {
    static float weights[ELEMENTS], averages[ELEMENTS];
    for (int i = 0; i < ELEMENTS; ++i) averages[i] = -(weights[i] = (float)step);
    const ons_named_tensor tensors[] = {
        make_tensor("w", ONS_FLOAT32, ELEMENTS, weights),
        make_tensor("w#exp_avg", ONS_FLOAT32, ELEMENTS, averages),
    };
    ons_checkpoint_info info = {.step = step,
                                .epoch = 1,
                                .position = step * 3,
                                .seed = UINT64_MAX,
                                .threads = 2,
                                .optimizer = "adamw",
                                .options_digest = "abc"};
    return ons_checkpoint_write(folder, &info, &(ons_safetensors_content){tensors, 2, NULL, NULL}, keep);
}

/* The newest step; 0 where there is none. All that it holds must be of that step. */
static uint64_t newest(const char *folder) {
    ons_checkpoint checkpoint;
    bool found;
    expect_success(ons_checkpoint_open_newest(folder, &checkpoint, &found));
    if (!found) return 0;
    uint64_t step = checkpoint.info.step;
    const ons_tensor *w = ons_checkpoint_find(&checkpoint, "w");
    const ons_tensor *average = ons_checkpoint_find(&checkpoint, "w#exp_avg");
    cr_assert(w != NULL && average != NULL);
    for (int i = 0; i < ELEMENTS; ++i) {
        cr_assert_eq(((const float *)w->data)[i], (float)step);
        cr_assert_eq(((const float *)average->data)[i], -(float)step);
    }
    ons_checkpoint_close(&checkpoint);
    return step;
}

Test(checkpoint, comes_back) {
    const char *folder = scratch_path("c");
    ons_json *more;
    expect_success(ons_json_new_object(&more));
    expect_success(ons_json_set_double(more, "best", 0.1 + 0.2));
    ons_checkpoint_info info = {12, 3, 45, UINT64_MAX - 1, 6, "sgd", "digest", "onednn 2.6", more};
    ons_named_tensor tensor = make_tensor("w", ONS_FLOAT32, 1, (const float[]){7});
    cr_expect_not(ons_checkpoint_exists(folder));
    expect_success(ons_checkpoint_write(folder, &info, &(ons_safetensors_content){&tensor, 1, NULL, NULL}, 2));
    ons_json_free(more);
    cr_expect(ons_checkpoint_exists(folder));

    ons_checkpoint checkpoint;
    bool found;
    double best;
    expect_success(ons_checkpoint_open_newest(folder, &checkpoint, &found));
    cr_assert(found);
    cr_expect_eq(checkpoint.info.step, 12);
    cr_expect_eq(checkpoint.info.epoch, 3);
    cr_expect_eq(checkpoint.info.position, 45);
    cr_expect_eq(checkpoint.info.seed, UINT64_MAX - 1);
    cr_expect_eq(checkpoint.info.threads, 6);
    cr_expect_str_eq(checkpoint.info.optimizer, "sgd");
    cr_expect_str_eq(checkpoint.info.options_digest, "digest");
    cr_expect_str_eq(checkpoint.info.versions, "onednn 2.6");
    expect_success(ons_json_get_double(checkpoint.info.more, "best", &best));
    cr_expect_eq(best, 0.1 + 0.2);
    cr_expect_eq(*(const float *)ons_checkpoint_find(&checkpoint, "w")->data, 7);
    cr_expect_eq(checkpoint.skipped, 0);
    ons_checkpoint_close(&checkpoint);
}

Test(checkpoint, keeps_the_newest) {
    const char *folder = scratch_path("c");
    cr_expect_eq(newest(folder), 0);
    for (uint64_t step = 10; step <= 50; step += 10) expect_success(save(folder, step, 2));
    cr_expect_eq(newest(folder), 50);
    cr_expect_eq(scratch_count(folder, ""), 4);
    expect_success(save(folder, 50, 2)); /* once more: a second data file takes over */
    cr_expect_eq(newest(folder), 50);
    cr_expect_eq(scratch_count(folder, ""), 4);
    expect_success(save(folder, 50, 1));
    cr_expect_eq(newest(folder), 50);
    cr_expect_eq(scratch_count(folder, ""), 2);
    expect_success(save(folder, 20, 1)); /* those of higher steps belong to somebody else */
    cr_expect_eq(scratch_count(folder, ".json"), 2);
}

static void damage(const char *path, long offset) {
    size_t size;
    char *bytes = scratch_read(path, &size);
    cr_assert_not_null(bytes);
    bytes[offset < 0 ? (long)size + offset : offset] ^= 1;
    scratch_write(path, bytes, size);
    free(bytes);
}

/* Of a step, position or option that is another by one bit, a run would know nothing. */
Test(checkpoint, every_bit_of_the_description_counts) {
    const char *folder = scratch_path("c"), *path = scratch_path("c/step-00000004.json");
    expect_success(save(folder, 4, 9));
    size_t size;
    char *bytes = scratch_read(path, &size);
    cr_assert_not_null(bytes);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
        ons_checkpoint checkpoint;
        bool found;
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        scratch_write(path, bytes, size);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        ons_status *status = ons_checkpoint_open_newest(folder, &checkpoint, &found);
        /* The braces at the end and the blanks around them are not covered, and say nothing. */
        cr_expect(!found || bit / 8 + 3 >= size, "bit %zu of byte %zu, '%c'", bit % 8, bit / 8, bytes[bit / 8]);
        ons_status_free(status);
        ons_checkpoint_close(&checkpoint);
    }
    free(bytes);
}

/* As it was written before there was a checksum. */
Test(checkpoint, an_older_one_opens) {
    const char *folder = scratch_path("c"), *path = scratch_path("c/step-00000004.json");
    expect_success(save(folder, 4, 9));
    size_t size;
    char *bytes = scratch_read(path, &size), *text = strndup(bytes, size);
    strstr(text, "onstage checkpoint 3")[19] = '1';
    strcpy(strstr(text, ",\n\t\"checksum\""), "\n}\n");
    scratch_write(path, text, strlen(text));
    cr_expect_eq(newest(folder), 4);
    free(text);
    free(bytes);
}

Test(checkpoint, passes_over_broken_ones) {
    const char *folder = scratch_path("c");
    for (uint64_t step = 1; step <= 4; ++step) expect_success(save(folder, step, 9));
    damage(scratch_path("c/step-00000004.safetensors"), -1);
    scratch_write(scratch_path("c/step-00000003.json"), "{\"format\": \"onst", 16);
    scratch_write(scratch_path("c/step-7.json"), "{}", 2); /* not a name of ours */
    ons_checkpoint checkpoint;
    bool found;
    expect_success(ons_checkpoint_open_newest(folder, &checkpoint, &found));
    cr_assert(found);
    cr_expect_eq(checkpoint.info.step, 2);
    cr_expect_eq(checkpoint.skipped, 2);
    cr_expect_not_null(strstr(ons_status_get_message(checkpoint.skipped_reason), "checksum"));
    ons_checkpoint_close(&checkpoint);
    cr_expect_eq(truncate(scratch_path("c/step-00000002.safetensors"), 100), 0);
    cr_expect_eq(newest(folder), 1);
    unlink(scratch_path("c/step-00000001.safetensors"));
    expect_failure(ons_checkpoint_open_newest(folder, &checkpoint, &found), ONS_INVALID_DATA,
                   "none of the 4 checkpoints");
    expect_success(save(folder, 5, 1)); /* and removes the broken ones */
    cr_expect_eq(newest(folder), 5);
    cr_expect_eq(scratch_count(folder, ".safetensors"), 1);
}

Test(checkpoint, survives_kills) {
    const char *folder = scratch_path("c");
    uint64_t reached = 0;
    srand(1);
    for (int round = 0; round < 25; ++round) {
        pid_t child = fork();
        if (child == 0) {
            for (uint64_t step = reached + 1;; ++step)
                if (save(folder, step, 2) != NULL) _exit(1);
        }
        usleep((useconds_t)(rand() % 40000));
        kill(child, SIGKILL);
        int how;
        waitpid(child, &how, 0);
        cr_assert(WIFSIGNALED(how), "the writer failed");
        uint64_t step = newest(folder);
        cr_assert_geq(step, reached);
        reached = step;
    }
    expect_success(save(folder, reached + 1, 2));
    cr_expect_eq(scratch_count(folder, ".tmp"), 0, "leftovers of killed writers are removed");
    cr_expect_leq(scratch_count(folder, ""), 4);
}

/* The number of a process that is gone may be another one's: what nobody writes any more is removed all the same. */
Test(checkpoint, leftovers_with_the_number_of_a_living_process) {
    const char *folder = scratch_path("c");
    char left[64], path[300];
    snprintf(left, sizeof left, "c/step-00000001.safetensors.%ld-0.tmp", (long)getppid());
    expect_success(save(folder, 1, 2));
    scratch_write(scratch_path(left), "half", 4);
    /* Another one is written just now, by whatever process. */
    ons_file_writer *writer;
    snprintf(path, sizeof path, "%s/step-00000007.safetensors", folder);
    expect_success(ons_file_writer_open(path, &writer));
    expect_success(save(folder, 2, 2));
    cr_expect_eq(scratch_count(folder, ".tmp"), 1, "what is left behind is removed, what is written stays");
    cr_expect_neq(access(scratch_path(left), F_OK), 0);
    expect_success(ons_file_commit(writer));
}

/* -------------------------------------------------------------------------------------------------- several writers */

/* What one of `count` writers does; each has a tensor of its own that says the step. */
static ons_shard save_shard(const char *folder, uint64_t step, uint32_t copy, uint32_t index, uint32_t count) {
    static float weights[ELEMENTS];
    for (int i = 0; i < ELEMENTS; ++i) weights[i] = (float)step + (float)index * 1000;
    char name[] = {'w', (char)('0' + index), 0};
    ons_named_tensor tensor = make_tensor(name, ONS_FLOAT32, ELEMENTS, weights);
    ons_shard_place place = {step, copy, index, count};
    ons_shard shard;
    expect_success(
        ons_checkpoint_write_shard(folder, &place, &(ons_safetensors_content){&tensor, 1, NULL, NULL}, &shard));
    return shard;
}

static void save_shards(const char *folder, uint64_t step, uint32_t count, uint32_t keep) {
    uint32_t copy;
    ons_shard shards[8];
    expect_success(ons_checkpoint_prepare(folder, step, &copy));
    for (uint32_t i = count; i-- > 0;) shards[i] = save_shard(folder, step, copy, i, count);
    ons_checkpoint_info info = {.step = step};
    expect_success(ons_checkpoint_complete(folder, &info, shards, count, keep));
}

static uint64_t newest_of_shards(const char *folder, uint32_t count) {
    ons_checkpoint checkpoint;
    bool found;
    expect_success(ons_checkpoint_open_newest(folder, &checkpoint, &found));
    uint64_t step = checkpoint.info.step;
    cr_assert_eq(checkpoint.part_count, count);
    for (uint32_t i = 0; i < count; ++i) {
        char name[] = {'w', (char)('0' + i), 0};
        const ons_tensor *w = ons_checkpoint_find(&checkpoint, name);
        cr_assert_not_null(w);
        for (int k = 0; k < ELEMENTS; ++k) cr_assert_eq(((const float *)w->data)[k], (float)step + (float)i * 1000);
    }
    cr_expect_null(ons_checkpoint_find(&checkpoint, "w"));
    ons_checkpoint_close(&checkpoint);
    return step;
}

Test(checkpoint, of_several_writers) {
    const char *folder = scratch_path("c");
    save_shards(folder, 1, 1, 2);
    cr_expect_eq(newest_of_shards(folder, 1), 1);
    save_shards(folder, 2, 4, 2);
    cr_expect_eq(newest_of_shards(folder, 4), 2);
    cr_expect_eq(scratch_count(folder, ""), 7);
    save_shards(folder, 2, 4, 2); /* once more */
    cr_expect_eq(newest_of_shards(folder, 4), 2);
    cr_expect_eq(scratch_count(folder, ""), 7);
    save_shards(folder, 3, 2, 2);
    cr_expect_eq(newest_of_shards(folder, 2), 3);
    cr_expect_eq(scratch_count(folder, ""), 8);
}

/* Until the JSON is there, the older checkpoint is the newest; then what was left behind goes. */
Test(checkpoint, absent_until_all_writers_are_done) {
    const char *folder = scratch_path("c");
    uint32_t copy;
    save_shards(folder, 1, 3, 2);
    expect_success(ons_checkpoint_prepare(folder, 2, &copy));
    for (uint32_t i = 0; i < 3; ++i) {
        save_shard(folder, 2, copy, i, 3);
        cr_expect_eq(newest_of_shards(folder, 3), 1);
    }
    expect_success(ons_checkpoint_prepare(folder, 2, &copy));
    cr_expect_eq(copy, 1, "those of the killed writers are not written over");
    save_shards(folder, 2, 2, 2);
    cr_expect_eq(newest_of_shards(folder, 2), 2);
    cr_expect_eq(scratch_count(folder, ".safetensors"), 5);
}

/* One writer gave up while the first stood still: what the first then completes would be no checkpoint. */
Test(checkpoint, a_shard_was_taken_back) {
    const char *folder = scratch_path("c");
    uint32_t copy;
    ons_shard shards[3];
    ons_checkpoint_info info = {.step = 2};
    save_shards(folder, 1, 3, 2);
    expect_success(ons_checkpoint_prepare(folder, 2, &copy));
    for (uint32_t i = 0; i < 3; ++i) shards[i] = save_shard(folder, 2, copy, i, 3);
    ons_checkpoint_remove_shard(folder, &shards[1]);
    expect_failure(ons_checkpoint_complete(folder, &info, shards, 3, 1), ONS_IO_ERROR, "step-00000002.1-of-3");
    cr_expect_eq(newest_of_shards(folder, 3), 1);
    cr_expect_eq(scratch_count(folder, ""), 4);
}

/* One writer stood still while the first completed, and gives up only then: the checkpoint is not its own any more. */
Test(checkpoint, a_shard_is_taken_back_too_late) {
    const char *folder = scratch_path("c");
    uint32_t copy;
    ons_shard shards[3];
    ons_checkpoint_info info = {.step = 1};
    expect_success(ons_checkpoint_prepare(folder, 1, &copy));
    for (uint32_t i = 0; i < 3; ++i) shards[i] = save_shard(folder, 1, copy, i, 3);
    expect_success(ons_checkpoint_complete(folder, &info, shards, 3, 1));
    ons_checkpoint_remove_shard(folder, &shards[1]);
    cr_expect_eq(newest_of_shards(folder, 3), 1);
}

Test(checkpoint, a_shard_is_missing_or_damaged) {
    const char *folder = scratch_path("c");
    ons_checkpoint checkpoint;
    bool found;
    for (uint64_t step = 1; step <= 3; ++step) save_shards(folder, step, 3, 9);
    damage(scratch_path("c/step-00000003.2-of-3.safetensors"), -1);
    cr_expect_eq(newest_of_shards(folder, 3), 2);
    unlink(scratch_path("c/step-00000002.1-of-3.safetensors"));
    cr_expect_eq(newest_of_shards(folder, 3), 1);
    unlink(scratch_path("c/step-00000003.0-of-3.safetensors"));
    unlink(scratch_path("c/step-00000001.0-of-3.safetensors"));
    expect_failure(ons_checkpoint_open_newest(folder, &checkpoint, &found), ONS_IO_ERROR,
                   "step-00000003.0-of-3.safetensors");
}

Test(checkpoint, full_disk) {
    const char *folder = scratch_path("c");
    expect_success(save(folder, 1, 2));
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, RLIM_INFINITY});
    expect_failure(save(folder, 2, 2), ONS_IO_ERROR, "cannot write");
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    cr_expect_eq(newest(folder), 1);
    cr_expect_eq(scratch_count(folder, ""), 2);
}

Test(checkpoint, folder_that_is_none) {
    scratch_write(scratch_path("file"), "x", 1);
    expect_failure(save(scratch_path("file"), 1, 2), ONS_IO_ERROR, "cannot");
    expect_failure(save(scratch_path("no/such/folder"), 1, 2), ONS_IO_ERROR, "cannot make the folder");
    ons_checkpoint checkpoint;
    bool found;
    expect_failure(ons_checkpoint_open_newest(scratch_path("file"), &checkpoint, &found), ONS_IO_ERROR, "cannot read");
}
