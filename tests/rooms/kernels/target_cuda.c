#include "tests/rooms/kernels/target_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "device/cuda.h"
#include "device/device.h"

#pragma weak ons_cuda_forget /* a build without CUDA has none */

/* One device, one stream, and what launches need in the device's memory; made once. */
static struct {
    ons_device *device;
    ons_stream *stream;
    ons_event *event;
    void *step, *fault;
    char why_not[512];
} gpu;

static ons_status *start(void) {
    ons_device *d;
    ONS_TRY(ons_device_new("cuda", 0, false, &gpu.device));
    d = gpu.device;
    ONS_TRY(d->stream_new(d, "tests", 1, &gpu.stream));
    ONS_TRY(d->event_new(d, &gpu.event));
    ONS_TRY(d->allocate(d, sizeof(ons_step), &gpu.step));
    return d->allocate(d, sizeof(ons_fault), &gpu.fault);
}

const char *ons_target_cuda_why_not(void) {
    if (gpu.fault != NULL) return NULL;
    ons_status *status = start();
    if (status == NULL) return NULL;
    snprintf(gpu.why_not, sizeof gpu.why_not, "not run: no GPU: %s", ons_status_get_message(status));
    ons_status_free(status);
    return gpu.why_not;
}

static void wait(void) {
    gpu.device->event_record(gpu.stream, gpu.event);
    gpu.device->event_synchronize(gpu.event);
}

static const ons_backend *backend(void) { return ons_backend_find("cuda"); }

/* Buffers of the device, kept until the process ends: taking and giving back one for each operand of each case would be
 * most of the tests' time. Their contents are the last case's. With ONSTAGE_TEST_POOL=off each is taken anew and as
 * large as it is asked for, so that compute-sanitizer sees what is read far behind its end. */
typedef struct kept_buffer {
    void *memory;
    size_t bytes;
    bool used;
} kept_buffer;

static ONS_VECTOR(kept_buffer) pool;

static bool keeps_buffers(void) {
    const char *wanted = getenv("ONSTAGE_TEST_POOL");
    return wanted == NULL || strcmp(wanted, "off") != 0;
}

/* The smallest that is free and not much too large. */
static kept_buffer *find_free(size_t bytes) {
    kept_buffer *best = NULL;
    for (size_t i = 0; i < pool.count; ++i) {
        kept_buffer *each = &pool.items[i];
        bool fits = !each->used && each->bytes >= bytes && each->bytes / 4 <= bytes;
        if (fits && (best == NULL || each->bytes < best->bytes)) best = each;
    }
    return best;
}

static ons_status *add_buffer(size_t bytes, kept_buffer **added) {
    kept_buffer fresh = {.bytes = bytes};
    ONS_TRY(gpu.device->allocate(gpu.device, (int64_t)bytes, &fresh.memory));
    ONS_PUSH(&pool, fresh);
    *added = &pool.items[pool.count - 1];
    return NULL;
}

static void *allocate(size_t bytes) {
    enum { LEAST = 4096 };
    bool keeps = keeps_buffers();
    size_t taken = keeps && bytes < LEAST ? LEAST : bytes;
    kept_buffer *found = keeps ? find_free(taken) : NULL;
    ons_status *status = found == NULL ? add_buffer(taken, &found) : NULL;
    ons_status_free(status);
    if (status != NULL) return NULL;
    found->used = true;
    return found->memory;
}

static void release(void *memory) {
    size_t i = 0;
    while (i < pool.count && pool.items[i].memory != memory) ++i;
    if (i == pool.count) return;
    pool.items[i].used = false;
    if (keeps_buffers()) return;
    gpu.device->release(gpu.device, memory, 0);
    pool.items[i] = pool.items[--pool.count];
}

static void copy(void *to, const void *from, size_t bytes) {
    gpu.device->copy(gpu.stream, to, from, bytes);
    wait();
}

typedef struct task {
    ons_run_function *run;
    ons_launch *launch;
} task;

static void run_task(void *argument, uintptr_t native) {
    task *t = argument;
    t->launch->stream = native;
    t->run(t->launch);
}

static void launch(ons_run_function *run, ons_launch *l) {
    ons_fault *fault = l->fault;
    copy(gpu.step, l->step, sizeof *l->step);
    copy(gpu.fault, fault, sizeof *fault);
    l->device_step = gpu.step;
    l->fault = gpu.fault;
    gpu.device->launch(gpu.stream, run_task, &(task){run, l});
    copy(fault, gpu.fault, sizeof *fault); /* the text that it points to is the host's */
    l->fault = fault;
}

static ons_status *finish(void) {
    wait();
    ons_status *status = gpu.device->failure(gpu.device);
    if (ons_cuda_forget != NULL) ons_cuda_forget();
    return status;
}

const ons_target ons_target_cuda = {
    .name = "CUDA",
    .may_refuse = true,
    .backend = backend,
    .allocate = allocate,
    .release = release,
    .copy_in = copy,
    .copy_out = copy,
    .launch = launch,
    .finish = finish,
};
