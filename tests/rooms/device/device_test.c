/* What device.h promises, on every device that is here. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device_kind.h"

static const char *const names[] = {"cpu", "cuda"};
static struct criterion_test_params every_device(void) {
    int *numbers = cr_malloc(2 * sizeof *numbers);
    numbers[0] = 0;
    numbers[1] = 1;
    return cr_make_param_array(int, numbers, 2);
}

/* The device, or NULL after saying that this machine has none. */
static ons_device *open_device(const char *name, int64_t limit) {
    ons_device *device = NULL;
    ons_status *status = ons_device_new(name, limit, false, &device);
    if (status == NULL) return device;
    cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    cr_expect(strcmp(name, "cuda") == 0);
    char text[512];
    snprintf(text, sizeof text, "%s", ons_status_get_message(status));
    ons_status_free(status);
    fprintf(stderr, "not run: no GPU: %s\n", text);
    cr_skip_test("not run: no GPU: %s", text);
    return NULL;
}

static void expect_success(ons_status *status) {
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

ParameterizedTestParameters(device, copies_and_events) { return every_device(); }

/* A value goes through two streams that wait for each other, and comes back. */
ParameterizedTest(int *number, device, copies_and_events) {
    enum { BYTES = 100003 };
    ons_device *d = open_device(names[*number], 0);
    void *host = NULL, *there = NULL, *also = NULL;
    ons_stream *first = NULL, *second = NULL;
    ons_event *event = NULL;
    expect_success(d->allocate_host(d, BYTES, &host));
    expect_success(d->allocate(d, BYTES, &there));
    expect_success(d->allocate(d, BYTES, &also));
    cr_expect_eq(d->used_bytes, 2 * BYTES);
    expect_success(d->stream_new(d, "first", 1, &first));
    expect_success(d->stream_new(d, "second", 1, &second));
    expect_success(d->event_new(d, &event));
    for (int round = 1; round <= 3; ++round) {
        memset(host, round, BYTES);
        d->copy(first, there, host, BYTES);
        d->event_record(first, event);
        d->stream_wait(second, event);
        d->copy(second, also, there, BYTES);
        d->event_record(second, event);
        d->event_synchronize(event);
        memset(host, 0, BYTES);
        d->copy(second, host, also, BYTES);
        d->event_record(second, event);
        d->event_synchronize(event);
        for (int i = 0; i < BYTES; ++i) cr_assert_eq(((unsigned char *)host)[i], round);
    }
    expect_success(d->failure(d));
    d->event_free(event);
    d->stream_free(first);
    d->stream_free(second);
    d->release(d, there, BYTES);
    d->release(d, also, BYTES);
    d->release_host(d, host, BYTES);
    cr_expect_eq(d->used_bytes, 0);
    d->free(d);
}

static void count(void *argument, uintptr_t native) {
    (void)native;
    ++*(int *)argument;
}

static void rest(void *argument, uintptr_t native) {
    (void)argument, (void)native;
    usleep(20000);
}

/* More is put on a stream than it holds while it waits for another one; both carry all of it out, in order. */
Test(device, long_queues) {
    enum { TASKS = 5000, ROUNDS = 3 };
    ons_device *d = open_device("cpu", 0);
    ons_stream *first = NULL, *second = NULL;
    ons_event *event = NULL, *end = NULL;
    int counted = 0;
    expect_success(d->stream_new(d, "first", 1, &first));
    expect_success(d->stream_new(d, "second", 1, &second));
    expect_success(d->event_new(d, &event));
    expect_success(d->event_new(d, &end));
    for (int round = 1; round <= ROUNDS; ++round) {
        d->launch(first, rest, NULL);
        d->event_record(first, event);
        d->stream_wait(second, event);
        for (int i = 0; i < TASKS; ++i) d->launch(second, count, &counted);
        d->event_record(second, end);
        d->event_synchronize(end);
        cr_expect_eq(counted, round * TASKS);
    }
    d->event_free(event);
    d->event_free(end);
    d->stream_free(first);
    d->stream_free(second);
    d->free(d);
}

static int64_t resident_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void take_and_return(size_t alignment, size_t bytes) {
    void *buffer;
    if (posix_memalign(&buffer, alignment, bytes) != 0) abort();
    for (size_t i = 0; i < bytes; i += 4096) ((volatile char *)buffer)[i] = 1;
    free(buffer);
}

/* As oneDNN does for the products of an LSTM. */
static void take_buffers(void *argument, uintptr_t native) {
    (void)argument, (void)native;
    for (int i = 0; i < 100; ++i) {
        take_and_return(128, 951904);
        take_and_return(128, 951904);
        for (int j = 0; j < 4; ++j) take_and_return(4096, 16640);
    }
}

/* A thread that takes a megabyte and gives it back, over and over, has little more in the end. */
Test(device, buffers_do_not_pile_up) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    cr_skip_test("a sanitizer keeps what is freed");
#endif
    ons_device *d = open_device("cpu", 0);
    ons_stream *stream = NULL;
    ons_event *end = NULL;
    expect_success(d->stream_new(d, "buffers", 1, &stream));
    expect_success(d->event_new(d, &end));
    int64_t before = resident_bytes();
    d->launch(stream, take_buffers, NULL);
    d->event_record(stream, end);
    d->event_synchronize(end);
    int64_t more = resident_bytes() - before;
    cr_expect_lt(more, 6 << 20, "%.1f MB more", 1e-6 * (double)more);
    d->event_free(end);
    d->stream_free(stream);
    d->free(d);
}

ParameterizedTestParameters(device, cap) { return every_device(); }

/* A cap counts what context and libraries take, too, and what is left for kernels that are loaded later. */
ParameterizedTest(int *number, device, cap) {
    const int64_t room = 256 << 20, part = 1 << 20;
    int64_t unused;
    ons_device *d = open_device(names[*number], 0);
    if (d->measure_memory != NULL) expect_success(d->measure_memory(d, &unused));
    int64_t cap = d->reserve_bytes + room;
    d->free(d);
    d = open_device(names[*number], cap);
    void *memory = NULL;
    ons_status *status = d->allocate(d, cap + 1, &memory);
    cr_expect_eq(ons_status_get_code(status), ONS_OUT_OF_MEMORY);
    ons_status_free(status);
    expect_success(d->allocate(d, part, &memory));
    d->release(d, memory, part);
    d->free(d);
}

Test(device, unknown_name) {
    ons_device *d = NULL;
    ons_status *status = ons_device_new("tpu", 0, false, &d);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
    cr_expect(strstr(ons_status_get_message(status), "tpu") != NULL);
    ons_status_free(status);
}

/* Without a GPU: one failure with a remedy, every time it is asked for. */
Test(device, refuses_politely) {
    for (int i = 0; i < 2; ++i) {
        ons_status *status = ons_device_check("cuda");
        if (status == NULL) cr_skip_test("there is a GPU");
        cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
        cr_expect(strstr(ons_status_get_message(status), "use --device cpu") != NULL, "%s",
                  ons_status_get_message(status));
        ons_status_free(status);
    }
    const ons_device_kind *kind;
    ons_status *status = ons_device_kind_find("cuda", &kind);
    if (status == NULL) cr_expect_eq(kind->count(), 0);
    ons_status_free(status);
}

/* Devices are named after their kind, and made by number. */
Test(device, kinds) {
    for (const ons_device_kind *const *each = ons_device_kinds; *each != NULL; ++each) {
        const ons_device_kind *kind = NULL;
        expect_success(ons_device_kind_find((*each)->name, &kind));
        cr_expect(kind == *each);
        int count = kind->count();
        ons_status *status = kind->check();
        cr_expect((status == NULL) == (count > 0));
        ons_status_free(status);
        if (count == 0) continue;
        ons_device *d = NULL;
        status = kind->device_new(count, 0, false, &d);
        cr_expect(status != NULL && d == NULL, "%s %d is none of %d", kind->name, count, count);
        ons_status_free(status);
        expect_success(kind->device_new(count - 1, 0, false, &d));
        cr_expect_str_eq(d->name, kind->name);
        d->free(d);
    }
}
