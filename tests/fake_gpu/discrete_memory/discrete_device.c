#include "tests/fake_gpu/discrete_memory/discrete_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/device_kind.h"
#include "tests/fake_gpu/scheduler/scheduler.h"
#include "tests/rooms/kernels/emulation/emulation.h"

static int64_t total = (int64_t)16 << 30;

/* What they are to the scheduler comes first in each. */

struct ons_stream {
    gpu_stream scheduled;
    ons_device *device;
    bool samples; /* it is called so */
};

struct ons_event {
    gpu_event scheduled;
};

struct ons_recording {
    gpu_recording scheduled;
};

typedef struct block {
    void *address;
    size_t bytes;
    struct block *next;
} block;

/* With the lock of `scheduler`. */
static block *blocks;
static discrete_counts counts;
static discrete_stream_copies sample_copies;
static int64_t reserve, works_until_failure;
static _Atomic int64_t taken, recordings_alive;
static int64_t bytes_a_recording;
static const char *broken;
static bool refuses_recordings;
static int gpus = 1;
static _Thread_local int current_gpu;

typedef struct discrete_gpu {
    ons_device device; /* first: what the caller holds */
    int index;
} discrete_gpu;

discrete_counts discrete_get_counts(void) {
    pthread_mutex_lock(&scheduler.lock);
    discrete_counts result = counts;
    pthread_mutex_unlock(&scheduler.lock);
    return result;
}

discrete_stream_copies discrete_get_sample_copies(void) {
    pthread_mutex_lock(&scheduler.lock);
    discrete_stream_copies result = sample_copies;
    pthread_mutex_unlock(&scheduler.lock);
    return result;
}

void discrete_seed(uint64_t seed) { gpu_seed(seed); }

void discrete_reserve(int64_t bytes) { reserve = bytes; }

void discrete_recording_takes(int64_t bytes) { bytes_a_recording = bytes; }

void discrete_total(int64_t bytes) { total = bytes; }

void discrete_break(int64_t after) {
    works_until_failure = after;
    if (after == 0) broken = NULL;
}

void discrete_refuse_recordings(bool refuse) { refuses_recordings = refuse; }

void discrete_gpus(int count) { gpus = count; }

int discrete_current_gpu(void) { return current_gpu; }

void discrete_wake(void) { gpu_wake(); }

/* ---------------------------------------------------------------------------------------------------------- running */

static void open_memory(bool open) {
    for (block *b = blocks; b != NULL; b = b->next)
        if (mprotect(b->address, b->bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) abort();
}

static void run_operation(const gpu_operation *o, uint64_t sum) {
    (void)sum;
    if (o->kind == COPY) memcpy(o->to, o->from, o->bytes);
    if (o->kind != KERNEL) return;
    o->run(o->argument);
    if (works_until_failure > 0 && --works_until_failure == 0) broken = "a kernel was told to fail";
}

static void drop_operation(gpu_operation *o) {
    if (o->drop != NULL) o->drop(o->argument);
}

/* What is on streams runs, also when it is of no use any more. */
static bool is_lost(void) { return false; }

const gpu_rules gpu_rules_of_fake = {
    .run = run_operation, .drop = drop_operation, .open_memory = open_memory, .is_lost = is_lost};

/* ----------------------------------------------------------------------------------------------------------- memory */

static size_t pages(int64_t bytes) { return ((size_t)bytes + 4095) / 4096 * 4096 + 4096; }

static ons_status *allocate(ons_device *device, int64_t bytes, void **address) {
    int64_t needed = device->used_bytes + device->reserve_bytes + bytes;
    ONS_CHECK(device->limit_bytes == 0 || needed <= device->limit_bytes, ONS_OUT_OF_MEMORY,
              "%lld bytes are needed, the cap is %lld", (long long)needed, (long long)device->limit_bytes);
    block *b = calloc(1, sizeof *b);
    if (b == NULL) return ons_status_out_of_memory();
    b->bytes = pages(bytes);
    b->address = mmap(NULL, b->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->address == MAP_FAILED) abort();
    pthread_mutex_lock(&scheduler.lock);
    b->next = blocks;
    blocks = b;
    ++counts.allocations;
    pthread_mutex_unlock(&scheduler.lock);
    device->used_bytes += bytes;
    taken += bytes;
    *address = b->address;
    return NULL;
}

static void release(ons_device *device, void *address, int64_t bytes) {
    if (address == NULL) return;
    pthread_mutex_lock(&scheduler.lock);
    block **at = &blocks;
    while ((*at)->address != address) at = &(*at)->next;
    block *b = *at;
    *at = b->next;
    pthread_mutex_unlock(&scheduler.lock);
    munmap(b->address, b->bytes);
    free(b);
    device->used_bytes -= bytes;
    taken -= bytes;
}

static ons_status *measure_memory(ons_device *device, int64_t *free_bytes) {
    device->reserve_bytes = reserve + recordings_alive * bytes_a_recording;
    *free_bytes = total - device->reserve_bytes - taken;
    return NULL;
}

static ons_status *allocate_host(ons_device *device, int64_t bytes, void **address) {
    (void)device;
    *address = malloc((size_t)bytes + 1);
    if (*address == NULL) return ons_status_out_of_memory();
    memset(*address, 0xA7, (size_t)bytes); /* as much as one may rely on */
    return NULL;
}

static void release_host(ons_device *device, void *address, int64_t bytes) {
    (void)device, (void)bytes;
    free(address);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static ons_status *stream_new(ons_device *device, const char *name, int threads, ons_stream **result) {
    (void)threads;
    ons_stream *s = calloc(1, sizeof *s);
    if (s == NULL) return ons_status_out_of_memory();
    s->device = device;
    s->samples = strcmp(name, "samples") == 0;
    pthread_mutex_lock(&scheduler.lock);
    gpu_add_stream(&s->scheduled);
    pthread_mutex_unlock(&scheduler.lock);
    *result = s;
    return NULL;
}

static void stream_free(ons_stream *stream) {
    if (stream == NULL) return;
    pthread_mutex_lock(&scheduler.lock);
    gpu_run_until(NULL, 0, &stream->scheduled);
    gpu_remove_stream(&stream->scheduled);
    pthread_mutex_unlock(&scheduler.lock);
    free(stream);
}

static void put(ons_stream *stream, gpu_operation o) {
    pthread_mutex_lock(&scheduler.lock);
    counts.kernels += o.kind == KERNEL;
    counts.copies += o.kind == COPY;
    if (stream->samples && o.kind == COPY)
        sample_copies = (discrete_stream_copies){sample_copies.copies + 1, counts.kernels, counts.waits};
    gpu_put(&stream->scheduled, o);
    pthread_mutex_unlock(&scheduler.lock);
}

/* Kernels that a task launches. */
static void put_work(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument), void *argument) {
    put((ons_stream *)stream, (gpu_operation){.kind = KERNEL, .run = run, .drop = drop, .argument = argument});
}

void discrete_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument) {
    put((ons_stream *)stream, (gpu_operation){.kind = KERNEL, .ready = ready, .run = run, .argument = argument});
}

static void launch(ons_stream *stream, ons_task *task, void *argument) {
    current_gpu = ((discrete_gpu *)stream->device)->index;
    task(argument, (uintptr_t)stream);
}

static void copy(ons_stream *stream, void *to, const void *from, size_t bytes) {
    if (bytes > 0) put(stream, (gpu_operation){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

/* ----------------------------------------------------------------------------------------------------------- events */

static ons_status *event_new(ons_device *device, ons_event **result) {
    (void)device;
    *result = calloc(1, sizeof **result);
    return *result == NULL ? ons_status_out_of_memory() : NULL;
}

static void event_free(ons_event *event) { free(event); }

static void event_record(ons_stream *stream, ons_event *event) {
    pthread_mutex_lock(&scheduler.lock);
    gpu_put(&stream->scheduled,
            (gpu_operation){.kind = RECORD, .event = &event->scheduled, .number = ++event->scheduled.recorded});
    pthread_mutex_unlock(&scheduler.lock);
}

static void stream_wait(ons_stream *stream, ons_event *event) {
    pthread_mutex_lock(&scheduler.lock);
    if (event->scheduled.recorded == 0) broken = "a wait for an event that nobody has recorded";
    if (event->scheduled.captured) broken = "a wait for an event that was recorded last in a recording";
    if (!gpu_join(&stream->scheduled, &event->scheduled)) broken = "a recording waits for what is not in it";
    gpu_put(&stream->scheduled,
            (gpu_operation){.kind = AWAIT, .event = &event->scheduled, .number = event->scheduled.recorded});
    pthread_mutex_unlock(&scheduler.lock);
}

static void event_synchronize(ons_event *event) {
    pthread_mutex_lock(&scheduler.lock);
    if (event->scheduled.recording != NULL || event->scheduled.captured)
        broken = "the host waits for what is being recorded";
    else
        gpu_run_until(&event->scheduled, event->scheduled.recorded, NULL);
    ++counts.waits;
    pthread_mutex_unlock(&scheduler.lock);
}

/* As on a GPU: one that has not been reached has no time. */
static double seconds_between(ons_event *first_event, ons_event *second_event) {
    const gpu_event *first = &first_event->scheduled, *second = &second_event->scheduled;
    pthread_mutex_lock(&scheduler.lock);
    if (first->reached == 0 || first->reached < first->recorded || second->reached == 0 ||
        second->reached < second->recorded)
        broken = "the time of an event that has not been reached";
    double seconds = second->time - first->time;
    pthread_mutex_unlock(&scheduler.lock);
    return seconds;
}

/* ------------------------------------------------------------------------------------------------------- recordings */

static ons_status *record_begin(ons_stream *stream) {
    ons_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) return ons_status_out_of_memory();
    ++recordings_alive;
    pthread_mutex_lock(&scheduler.lock);
    gpu_begin_recording(&recording->scheduled, &stream->scheduled);
    pthread_mutex_unlock(&scheduler.lock);
    return NULL;
}

static void recording_free(ons_recording *recording) {
    if (recording == NULL) return;
    gpu_operations *operations = &recording->scheduled.operations;
    for (size_t i = 0; i < operations->count; ++i) drop_operation(&operations->items[i]);
    ons_vector_free(operations);
    --recordings_alive;
    free(recording->scheduled.ran);
    free(recording);
}

static ons_status *record_end(ons_stream *stream, ons_recording **result) {
    pthread_mutex_lock(&scheduler.lock);
    ons_recording *recording = (ons_recording *)stream->scheduled.recording;
    gpu_recording *r = &recording->scheduled;
    bool joined = gpu_end_recording(r);
    for (size_t i = 0; i < r->operations.count; ++i) {
        const gpu_operation *o = &r->operations.items[i];
        if (o->kind != RECORD || o->event->recording != r) continue;
        o->event->recording = NULL;
        o->event->captured = true;
    }
    ++counts.recordings;
    pthread_mutex_unlock(&scheduler.lock);
    if (joined && !refuses_recordings) {
        *result = recording;
        return NULL;
    }
    recording_free(recording);
    return ons_status_new(ONS_UNSUPPORTED, joined ? "a recording was told to fail" : "a recording is not joined");
}

static void recording_repeat(ons_stream *stream, ons_recording *recording) {
    pthread_mutex_lock(&scheduler.lock);
    ++counts.repetitions;
    gpu_put(&stream->scheduled, (gpu_operation){.kind = REPEAT, .recording = &recording->scheduled});
    pthread_mutex_unlock(&scheduler.lock);
}

/* ----------------------------------------------------------------------------------------------------------- device */

static ons_status *failure(ons_device *device) {
    (void)device;
    pthread_mutex_lock(&scheduler.lock);
    const char *what = broken;
    pthread_mutex_unlock(&scheduler.lock);
    return what == NULL ? NULL : ons_status_new(ONS_DEFECT, "the GPU failed: %s", what);
}

static void device_free(ons_device *device) { free(device); }

static ons_status *check(void) { return NULL; }

static int count(void) { return gpus; }

static ons_status *read_identity(int index, char identity[static ONS_DEVICE_IDENTITY_BYTES]) {
    snprintf(identity, ONS_DEVICE_IDENTITY_BYTES, "far:%d", index);
    return NULL;
}

static ons_status *device_new(int index, int64_t limit_bytes, bool pin, ons_device **result) {
    (void)pin;
    ONS_CHECK(index >= 0 && index < gpus, ONS_INVALID_ARGUMENT, "GPU %d is asked for, there are %d", index, gpus);
    discrete_gpu *made = calloc(1, sizeof *made);
    if (made == NULL) return ons_status_out_of_memory();
    ons_device *device = &made->device;
    made->index = index;
    ons_emulation_put = put_work;
    *device = (ons_device){
        .name = "cuda",
        .allocate = allocate,
        .release = release,
        .allocate_host = allocate_host,
        .release_host = release_host,
        .stream_new = stream_new,
        .stream_free = stream_free,
        .launch = launch,
        .copy = copy,
        .event_new = event_new,
        .event_free = event_free,
        .event_record = event_record,
        .stream_wait = stream_wait,
        .event_synchronize = event_synchronize,
        .record_begin = record_begin,
        .record_end = record_end,
        .recording_repeat = recording_repeat,
        .recording_free = recording_free,
        .timed_event_new = event_new,
        .seconds_between = seconds_between,
        .failure = failure,
        .measure_memory = measure_memory,
        .free = device_free,
        .title = "a device with discrete memory",
        .total_bytes = total,
        .limit_bytes = limit_bytes,
        .reserve_bytes = reserve,
        .slack_bytes = total / FAR_SLACK_PART < FAR_SLACK ? total / FAR_SLACK_PART : FAR_SLACK,
    };
    *result = device;
    return NULL;
}

static const ons_device_kind discrete_kind = {
    .name = "cuda",
    .check = check,
    .count = count,
    .read_identity = read_identity,
    .device_new = device_new,
};

const ons_device_kind *const ons_device_kinds[] = {&ons_cpu_kind, &discrete_kind, NULL};
