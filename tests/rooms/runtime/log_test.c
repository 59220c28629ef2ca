/* The three ways of watching a run: JSON lines, TensorBoard, traces. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "runtime/log/log_json.h"
#include "runtime/log/tensorboard.h"
#include "runtime/log/trace.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(log_json, .init = scratch_make, .fini = scratch_remove);
TestSuite(tensorboard, .init = scratch_make, .fini = scratch_remove);
TestSuite(trace, .init = scratch_make, .fini = scratch_remove);

static void log_steps(ons_log_json *log, uint64_t first, uint64_t last) {
    for (uint64_t step = first; step <= last; ++step) {
        ons_json_writer *json = ons_log_json_begin(log, step);
        ons_json_put_double(json, "loss", step == 2 ? NAN : 1.0 / (double)step);
        ons_json_begin_object(json, "grad_norms");
        ons_json_put_double(json, "fc\"1", 0.5);
        ons_json_end_object(json);
        expect_success(ons_log_json_end(log));
    }
}

static void expect_text(const char *path, const char *expected) {
    size_t size;
    char *text = scratch_read(path, &size);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, expected);
    free(text);
}

#define LINE1 "{\"step\":1,\"loss\":1,\"grad_norms\":{\"fc\\\"1\":0.5}}\n"
#define LINE2 "{\"step\":2,\"loss\":null,\"grad_norms\":{\"fc\\\"1\":0.5}}\n"
#define LINE3 "{\"step\":3,\"loss\":0.33333333333333331,\"grad_norms\":{\"fc\\\"1\":0.5}}\n"

Test(log_json, lines) {
    const char *path = scratch_path("log.jsonl");
    ons_log_json *log;
    scratch_write(path, "old", 3);
    expect_success(ons_log_json_open(path, &log));
    log_steps(log, 1, 3);
    expect_text(path, LINE1 LINE2 LINE3); /* already before it is closed */
    expect_success(ons_log_json_sync(log));
    ons_log_json_close(log);
}

Test(log_json, resumed) {
    static const struct {
        const char *before;
        uint64_t step;
        const char *after;
    } cases[] = {
        {LINE1 LINE2 LINE3, 3, LINE1 LINE2 LINE3},
        {LINE1 LINE2 LINE3, 2, LINE1 LINE2},
        {LINE1 LINE2 LINE3, 0, ""},
        {LINE1 LINE2 "{\"step\":3,\"lo", 2, LINE1 LINE2},
        {LINE1 "{\"step\":2}", 2, LINE1},
        {LINE1 LINE3 LINE2, 2, LINE1 LINE2}, /* what stays may be anywhere */
        {"{\"note\":\"x\"}\n" LINE3 "{\"note\":\"y\"}\n", 2, "{\"note\":\"x\"}\n{\"note\":\"y\"}\n"},
        {LINE1 "\n" LINE2, 2, LINE1 "\n" LINE2},
        {"", 5, ""},
    };
    const char *path = scratch_path("log.jsonl");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ons_log_json *log;
        scratch_write(path, cases[i].before, strlen(cases[i].before));
        expect_success(ons_log_json_resume(path, cases[i].step, &log));
        ons_log_json_close(log);
        expect_text(path, cases[i].after);
    }
    ons_log_json *log;
    scratch_write(path, LINE1 LINE2, strlen(LINE1 LINE2));
    expect_success(ons_log_json_resume(path, 1, &log));
    log_steps(log, 2, 3);
    ons_log_json_close(log);
    expect_text(path, LINE1 LINE2 LINE3);
    unlink(path);
    expect_success(ons_log_json_resume(path, 1, &log));
    ons_log_json_close(log);
}

Test(log_json, leaves_other_files_alone) {
    const char *path = scratch_path("thesis.txt");
    ons_log_json *log;
    scratch_write(path, LINE1 "dear reader\n" LINE3, strlen(LINE1 "dear reader\n" LINE3));
    expect_failure(ons_log_json_resume(path, 1, &log), ONS_INVALID_DATA, "line 2");
    expect_text(path, LINE1 "dear reader\n" LINE3);
    scratch_write(path, "12\n", 3);
    expect_failure(ons_log_json_resume(path, 1, &log), ONS_INVALID_DATA, "not a JSON object");
    expect_failure(ons_log_json_open(scratch_path("no/folder"), &log), ONS_IO_ERROR, "cannot write the log");
}

Test(log_json, full_disk) {
    ons_log_json *log;
    expect_success(ons_log_json_open("/dev/full", &log));
    ons_log_json_begin(log, 1);
    expect_failure(ons_log_json_end(log), ONS_IO_ERROR, "cannot write the log '/dev/full'");
    ons_log_json_close(log);
}

/* Bytes that are allocated now. */
static size_t allocated(void) { return mallinfo2().uordblks; }

Test(log_json, allocates_nothing) {
    ons_log_json *log;
    ons_tensorboard *board;
    ons_trace *trace;
    ons_trace_track *track;
    expect_success(ons_log_json_open(scratch_path("log"), &log));
    expect_success(ons_tensorboard_open(scratch_path("board"), 1000, false, 0, &board));
    expect_success(ons_trace_new(100, &trace));
    expect_success(ons_trace_add_track(trace, 0, "cpu", "compute", &track));
    size_t before = allocated();
    for (uint64_t step = 1; step < 2000; ++step) {
        log_steps(log, step, step);
        expect_success(ons_tensorboard_scalar(board, "loss", step, 1000, 0.5));
        ons_trace_record(track, &(ons_trace_event){"x", NULL, 0, 1, -1, -1, -1, NULL});
    }
    cr_expect_eq(allocated(), before);
    ons_log_json_close(log);
    expect_success(ons_tensorboard_close(board));
    ons_trace_free(trace);
}

/* ------------------------------------------------------------------------------------------------------ tensorboard */

Test(tensorboard, crc32c) { /* values of RFC 3720, appendix B.4 */
    static const uint8_t zeros[32];
    uint8_t ones[32], ascending[32];
    memset(ones, 0xff, 32);
    for (int i = 0; i < 32; ++i) ascending[i] = (uint8_t)i;
    cr_expect_eq(ons_crc32c(zeros, 32), 0x8a9136aa);
    cr_expect_eq(ons_crc32c(ones, 32), 0x62a8ab43);
    cr_expect_eq(ons_crc32c(ascending, 32), 0x46dd794e);
    cr_expect_eq(ons_crc32c("123456789", 9), 0xe3069283);
}

/* The only file in the folder. */
static char *read_only_file(const char *folder, size_t *size) {
    DIR *directory = opendir(folder);
    char *bytes = NULL;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char path[600];
        cr_expect_eq(strncmp(entry->d_name, "events.out.tfevents.0000001000.", 31), 0, "%s", entry->d_name);
        cr_assert_null(bytes);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        bytes = scratch_read(path, size);
    }
    closedir(directory);
    return bytes;
}

/* Checks the frame of the record at *at and moves behind it. */
static const char *next_record(const char **at, uint64_t *length) {
    uint32_t crc;
    memcpy(length, *at, 8);
    memcpy(&crc, *at + 8, 4);
    cr_assert_eq(crc, ons_masked_crc32c(*at, 8));
    const char *data = *at + 12;
    memcpy(&crc, data + *length, 4);
    cr_assert_eq(crc, ons_masked_crc32c(data, *length));
    *at = data + *length + 4;
    return data;
}

Test(tensorboard, records) {
    ons_tensorboard *board;
    const char *folder = scratch_path("board");
    expect_success(ons_tensorboard_open(folder, 1000, true, 299, &board));
    expect_success(ons_tensorboard_scalar(board, "loss", 300, 1000.5, 0.25));
    expect_success(ons_tensorboard_close(board));
    size_t size;
    char *bytes = read_only_file(folder, &size);
    const char *at = bytes, *data;
    uint64_t length;
    data = next_record(&at, &length);
    cr_expect_eq(length, 9 + 2 + 13);
    cr_expect_eq(memcmp(data + 9,
                        "\x1a\x0d"
                        "brain.Event:2",
                        15),
                 0);
    data = next_record(&at, &length);
    cr_expect_eq(length, 9 + 3 + 4);
    cr_expect_eq(memcmp(data + 9, "\x10\xac\x02\x3a\x02\x08\x01", 7), 0); /* step 300, session start */
    data = next_record(&at, &length);
    cr_expect_eq(length, 9 + 3 + 15);
    cr_expect_eq(memcmp(data, "\x09\0\0\0\0\0\x44\x8f\x40\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e", 27),
                 0);
    cr_expect_eq(at, bytes + size);
    free(bytes);
}

Test(tensorboard, many_and_bad) {
    ons_tensorboard *board;
    const char *folder = scratch_path("board");
    expect_success(ons_tensorboard_open(folder, 1000, false, 0, &board));
    for (uint64_t step = 0; step < 5000; ++step) expect_success(ons_tensorboard_scalar(board, "loss", step, 1000, 1));
    char tag[1000];
    memset(tag, 'x', sizeof tag);
    tag[999] = '\0';
    expect_failure(ons_tensorboard_scalar(board, tag, 1, 1, 1), ONS_INVALID_ARGUMENT, "999 bytes");
    tag[512] = '\0';
    expect_success(ons_tensorboard_scalar(board, tag, UINT64_MAX, 1, NAN));
    expect_success(ons_tensorboard_close(board));
    size_t size, records = 0;
    char *bytes = read_only_file(folder, &size);
    uint64_t length;
    for (const char *at = bytes; at < bytes + size; ++records) next_record(&at, &length);
    cr_expect_eq(records, 5002);
    free(bytes);
    expect_failure(ons_tensorboard_open(scratch_path("no/folder"), 1, false, 0, &board), ONS_IO_ERROR, "cannot make");
}

/* ------------------------------------------------------------------------------------------------------------ trace */

static ons_json *write_trace(ons_trace *trace) {
    const char *path = scratch_path("trace.json");
    expect_success(ons_trace_write(trace, path));
    size_t size;
    char *text = scratch_read(path, &size);
    ons_json *json;
    expect_success(ons_json_parse(text, size, &json));
    free(text);
    return json;
}

Test(trace, events) {
    ons_trace *trace;
    ons_trace_track *compute, *copy;
    expect_success(ons_trace_new(1000, &trace));
    expect_success(ons_trace_add_track(trace, 0, "cpu", "compute", &compute));
    expect_success(ons_trace_add_track(trace, 0, "cpu", "swap out", &copy));
    int64_t now = ons_trace_now();
    ons_trace_record(compute, &(ons_trace_event){"fc1", "forward", now + 2000, now + 3500, 1, 0, -1, "Gemm"});
    ons_trace_record(compute, &(ons_trace_event){"step", NULL, now, now + 9000, 1, -1, -1, NULL});
    ons_trace_record(copy, &(ons_trace_event){"a\"b", "swap_out", now, now + 1, -1, -1, 4096, NULL});
    ons_trace_record(NULL, &(ons_trace_event){"nothing", NULL, 0, 0, -1, -1, -1, NULL});
    ons_json *json = write_trace(trace);
    const ons_json *events, *event;
    expect_success(ons_json_get_array(json, "traceEvents", &events));
    cr_assert_eq(cJSON_GetArraySize(events), 7);
    event = cJSON_GetArrayItem(events, 3); /* after two names and what encloses it */
    const char *text;
    double number;
    expect_success(ons_json_get_text(event, "name", &text));
    cr_expect_str_eq(text, "fc1");
    expect_success(ons_json_get_text(event, "ph", &text));
    cr_expect_str_eq(text, "X");
    expect_success(ons_json_get_double(event, "dur", &number));
    cr_expect_eq(number, 1.5);
    expect_success(ons_json_get_text(ons_json_find(event, "args"), "detail", &text));
    cr_expect_str_eq(text, "Gemm");
    cr_expect_null(ons_json_find(ons_json_find(event, "args"), "bytes"));
    ons_json_free(json);
    ons_trace_free(trace);
}

Test(trace, oldest_events_make_room) {
    ons_trace *trace;
    ons_trace_track *track;
    expect_success(ons_trace_new(10, &trace));
    expect_success(ons_trace_add_track(trace, 3, "stage 3", "compute", &track));
    for (int64_t i = 0; i < 25; ++i) ons_trace_record(track, &(ons_trace_event){"x", NULL, i, i + 1, i, -1, -1, NULL});
    ons_json *json = write_trace(trace);
    const ons_json *events;
    int64_t value;
    expect_success(ons_json_get_array(json, "traceEvents", &events));
    cr_expect_eq(cJSON_GetArraySize(events), 12);
    expect_success(ons_json_get_int(ons_json_find(cJSON_GetArrayItem(events, 2), "args"), "step", &value));
    cr_expect_eq(value, 15);
    expect_success(ons_json_get_int(ons_json_find(json, "otherData"), "lost_events", &value));
    cr_expect_eq(value, 15);
    ons_json_free(json);
    expect_failure(ons_trace_write(trace, scratch_path("no/folder")), ONS_IO_ERROR, "cannot write");
    ons_trace_free(trace);
}

Test(trace, empty) {
    ons_trace *trace;
    expect_success(ons_trace_new(1, &trace));
    ons_json_free(write_trace(trace));
    ons_trace_free(trace);
    expect_failure(ons_trace_new(0, &trace), ONS_INVALID_ARGUMENT, "no events");
}
