#include "tests/far/far_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/vector.h"
#include "device/device_kind.h"
#include "tests/kernels/emulation/emulation.h"

static int64_t total = (int64_t)16 << 30;

typedef enum operation_kind { WORK, COPY, RECORD, AWAIT, REPEAT } operation_kind;

typedef struct operation {
    operation_kind kind;
    void (*run)(void *argument);   /* WORK */
    bool (*ready)(void *argument); /* WORK; NULL: at once */
    void (*drop)(void *argument);
    void *argument;
    void *to; /* COPY */
    const void *from;
    size_t bytes;
    ons_event *event; /* RECORD, AWAIT */
    uint64_t number;
    ons_recording *recording; /* REPEAT */
    size_t after[2];          /* of a recording: what must have run before, NOTHING or its index */
} operation;

#define NOTHING SIZE_MAX

typedef ONS_VECTOR(operation) operations;

struct ons_stream {
    ons_device *device;
    ons_stream *next; /* of all */
    operations queue;
    size_t done;
    ons_recording *recording; /* what is put on it goes there */
    size_t last;              /* put on it there, or NOTHING */
};

struct ons_event {
    uint64_t recorded, reached;
    double time;              /* when, by the host's clock, in seconds */
    ons_recording *recording; /* recorded last while this was being made */
    size_t place;             /* in it */
    bool captured;            /* recorded last in a recording that has ended */
};

struct ons_recording {
    operations operations; /* in the order in which they were put: one in which they can run */
    ons_stream *origin;
    bool *ran; /* each of them, in the repetition that runs */
    size_t ran_count;
};

typedef struct block {
    void *address;
    size_t bytes;
    struct block *next;
} block;

/* One lock for all: what a test needs is order, not speed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t put_more = PTHREAD_COND_INITIALIZER;
static ons_stream *streams;
static block *blocks;
static far_counts counts;
static uint64_t random_state = 1;
static int64_t reserve, works_until_failure;
static _Atomic int64_t taken, recordings_alive;
static int64_t bytes_a_recording;
static const char *broken;
static bool refuses_recordings;
static int gpus = 1;
static _Thread_local int current_gpu;

typedef struct far_gpu {
    ons_device device; /* first: what the caller holds */
    int index;
} far_gpu;

far_counts far_get_counts(void) {
    pthread_mutex_lock(&lock);
    far_counts result = counts;
    pthread_mutex_unlock(&lock);
    return result;
}

void far_seed(uint64_t seed) { random_state = seed * 2 + 1; }

void far_reserve(int64_t bytes) { reserve = bytes; }

void far_recording_takes(int64_t bytes) { bytes_a_recording = bytes; }

void far_total(int64_t bytes) { total = bytes; }

void far_break(int64_t after) {
    works_until_failure = after;
    if (after == 0) broken = NULL;
}

void far_refuse_recordings(bool refuse) { refuses_recordings = refuse; }

void far_gpus(int count) { gpus = count; }

int far_current_gpu(void) { return current_gpu; }

void far_wake(void) {
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&put_more);
    pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------------------------------- running
 */

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

static void set_access(int protection) {
    for (block *b = blocks; b != NULL; b = b->next)
        if (mprotect(b->address, b->bytes, protection) != 0) abort();
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run_operation(const operation *o) {
    switch (o->kind) {
    case WORK:
        o->run(o->argument);
        if (works_until_failure > 0 && --works_until_failure == 0) broken = "a kernel was told to fail";
        break;
    case COPY: memcpy(o->to, o->from, o->bytes); break;
    case RECORD:
        o->event->reached = o->number;
        o->event->time = now();
        break;
    case REPEAT:
    case AWAIT: break;
    }
}

static bool can_work(const operation *o) { return o->kind != WORK || o->ready == NULL || o->ready(o->argument); }

static bool has_run(const ons_recording *r, size_t index) { return index == NOTHING || r->ran[index]; }

static bool is_ready(const ons_recording *r, size_t index) {
    const operation *o = &r->operations.items[index];
    return !r->ran[index] && has_run(r, o->after[0]) && has_run(r, o->after[1]) && can_work(o);
}

static bool can_advance(const ons_recording *r) {
    for (size_t i = 0; i < r->operations.count; ++i)
        if (is_ready(r, i)) return true;
    return r->operations.count == 0;
}

/* One operation of a repetition, any of those that may run; true: all have. Its events are not those of streams. */
static bool advance(ons_recording *r) {
    size_t ready = 0, index = 0;
    for (size_t i = 0; i < r->operations.count; ++i) ready += is_ready(r, i);
    if (ready > 0) {
        size_t chosen = draw() % ready;
        while (!is_ready(r, index) || chosen-- > 0) ++index;
        const operation *o = &r->operations.items[index];
        if (o->kind == WORK || o->kind == COPY) run_operation(o);
        r->ran[index] = true;
        ++r->ran_count;
    }
    if (r->ran_count < r->operations.count) return false;
    memset(r->ran, 0, r->operations.count * sizeof *r->ran);
    r->ran_count = 0;
    return true;
}

static bool can_run(const ons_stream *s) {
    if (s->done == s->queue.count) return false;
    const operation *o = &s->queue.items[s->done];
    if (o->kind == REPEAT) return can_advance(o->recording);
    return o->kind == AWAIT ? o->event->reached >= o->number : can_work(o);
}

/* One operation of a stream that has one ready; false: there is none. */
static bool run_one(void) {
    size_t ready = 0;
    for (ons_stream *s = streams; s != NULL; s = s->next) ready += can_run(s);
    if (ready == 0) return false;
    size_t chosen = draw() % ready;
    ons_stream *s = streams;
    while (!can_run(s) || chosen-- > 0) s = s->next;
    /* Some in a row: otherwise streams advance in step, which is no order that a GPU knows. */
    for (uint64_t row = draw() % 8; can_run(s); --row) {
        operation o = s->queue.items[s->done];
        if (o.kind != REPEAT || advance(o.recording)) {
            ++s->done;
            run_operation(&o);
            if (o.drop != NULL) o.drop(o.argument);
        }
        if (row == 0) break;
    }
    if (s->done == s->queue.count) s->done = s->queue.count = 0;
    return true;
}

/* Until an event is reached, or (event NULL) a stream is empty. Other threads put more on streams meanwhile. */
static void run_until(const ons_event *event, uint64_t number, const ons_stream *stream) {
    set_access(PROT_READ | PROT_WRITE);
    while (event != NULL ? event->reached < number : stream->done < stream->queue.count)
        if (!run_one()) {
            set_access(PROT_NONE);
            pthread_cond_wait(&put_more, &lock);
            set_access(PROT_READ | PROT_WRITE);
        }
    set_access(PROT_NONE);
    pthread_cond_broadcast(&put_more); /* what others wait for may have been done here */
}

/* -------------------------------------------------------------------------------------------------------------- memory
 */

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
    pthread_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    ++counts.allocations;
    pthread_mutex_unlock(&lock);
    device->used_bytes += bytes;
    taken += bytes;
    *address = b->address;
    return NULL;
}

static void release(ons_device *device, void *address, int64_t bytes) {
    if (address == NULL) return;
    pthread_mutex_lock(&lock);
    block **at = &blocks;
    while ((*at)->address != address) at = &(*at)->next;
    block *b = *at;
    *at = b->next;
    pthread_mutex_unlock(&lock);
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

/* ------------------------------------------------------------------------------------------------------------- streams
 */

static ons_status *stream_new(ons_device *device, const char *name, int threads, ons_stream **result) {
    (void)name, (void)threads;
    ons_stream *s = calloc(1, sizeof *s);
    if (s == NULL) return ons_status_out_of_memory();
    s->device = device;
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *result = s;
    return NULL;
}

static void stream_free(ons_stream *stream) {
    if (stream == NULL) return;
    pthread_mutex_lock(&lock);
    run_until(NULL, 0, stream);
    ons_stream **at = &streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&lock);
    ons_vector_free(&stream->queue);
    free(stream);
}

static void put_locked(ons_stream *stream, operation o) {
    operations *to = stream->recording != NULL ? &stream->recording->operations : &stream->queue;
    if (stream->recording != NULL) {
        o.after[0] = stream->last;
        o.after[1] = o.kind == AWAIT ? o.event->place : NOTHING;
        stream->last = to->count;
    }
    if (!ons_vector_push(to, o)) abort();
    pthread_cond_broadcast(&put_more);
}

static void put(ons_stream *stream, operation o) {
    pthread_mutex_lock(&lock);
    counts.kernels += o.kind == WORK;
    counts.copies += o.kind == COPY;
    put_locked(stream, o);
    pthread_mutex_unlock(&lock);
}

/* Kernels that a task launches. */
static void put_work(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument), void *argument) {
    put((ons_stream *)stream, (operation){.kind = WORK, .run = run, .drop = drop, .argument = argument});
}

void far_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument) {
    put((ons_stream *)stream, (operation){.kind = WORK, .ready = ready, .run = run, .argument = argument});
}

static void launch(ons_stream *stream, ons_task *task, void *argument) {
    current_gpu = ((far_gpu *)stream->device)->index;
    task(argument, (uintptr_t)stream);
}

static void copy(ons_stream *stream, void *to, const void *from, size_t bytes) {
    if (bytes > 0) put(stream, (operation){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

/* -------------------------------------------------------------------------------------------------------------- events
 */

static ons_status *event_new(ons_device *device, ons_event **result) {
    (void)device;
    *result = calloc(1, sizeof **result);
    return *result == NULL ? ons_status_out_of_memory() : NULL;
}

static void event_free(ons_event *event) { free(event); }

static void event_record(ons_stream *stream, ons_event *event) {
    pthread_mutex_lock(&lock);
    event->recording = stream->recording;
    event->captured = false;
    put_locked(stream, (operation){.kind = RECORD, .event = event, .number = ++event->recorded});
    if (stream->recording != NULL) event->place = stream->last;
    pthread_mutex_unlock(&lock);
}

static void stream_wait(ons_stream *stream, ons_event *event) {
    pthread_mutex_lock(&lock);
    if (event->recorded == 0) broken = "a wait for an event that nobody has recorded";
    if (event->captured) broken = "a wait for an event that was recorded last in a recording";
    if (event->recording != NULL && stream->recording == NULL) { /* it joins */
        stream->recording = event->recording;
        stream->last = NOTHING;
    }
    if (event->recording != stream->recording) broken = "a recording waits for what is not in it";
    put_locked(stream, (operation){.kind = AWAIT, .event = event, .number = event->recorded});
    pthread_mutex_unlock(&lock);
}

static void event_synchronize(ons_event *event) {
    pthread_mutex_lock(&lock);
    if (event->recording != NULL || event->captured)
        broken = "the host waits for what is being recorded";
    else
        run_until(event, event->recorded, NULL);
    ++counts.waits;
    pthread_mutex_unlock(&lock);
}

/* As on a GPU: one that has not been reached has no time. */
static double seconds_between(ons_event *first, ons_event *second) {
    pthread_mutex_lock(&lock);
    if (first->reached == 0 || first->reached < first->recorded || second->reached == 0 ||
        second->reached < second->recorded)
        broken = "the time of an event that has not been reached";
    double seconds = second->time - first->time;
    pthread_mutex_unlock(&lock);
    return seconds;
}

/* ---------------------------------------------------------------------------------------------------------- recordings
 */

static ons_status *record_begin(ons_stream *stream) {
    ons_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) return ons_status_out_of_memory();
    ++recordings_alive;
    pthread_mutex_lock(&lock);
    recording->origin = stream;
    stream->recording = recording;
    stream->last = NOTHING;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Whether the stream on which it began has waited for all of it. */
static bool is_joined(const ons_recording *r, bool *reached) {
    if (r->operations.count > 0 && r->origin->last == NOTHING) return false;
    if (r->operations.count > 0) reached[r->origin->last] = true;
    for (size_t i = r->operations.count; i-- > 0;) {
        const operation *o = &r->operations.items[i];
        if (!reached[i]) return false;
        for (int k = 0; k < 2; ++k)
            if (o->after[k] != NOTHING) reached[o->after[k]] = true;
    }
    return true;
}

static void recording_free(ons_recording *recording) {
    if (recording == NULL) return;
    for (size_t i = 0; i < recording->operations.count; ++i) {
        operation *o = &recording->operations.items[i];
        if (o->drop != NULL) o->drop(o->argument);
    }
    ons_vector_free(&recording->operations);
    --recordings_alive;
    free(recording->ran);
    free(recording);
}

static ons_status *record_end(ons_stream *stream, ons_recording **result) {
    pthread_mutex_lock(&lock);
    ons_recording *r = stream->recording;
    bool *flags = calloc(r->operations.count + 1, sizeof *flags);
    if (flags == NULL) abort();
    bool joined = is_joined(r, flags);
    for (ons_stream *s = streams; s != NULL; s = s->next)
        if (s->recording == r) s->recording = NULL;
    for (size_t i = 0; i < r->operations.count; ++i) {
        const operation *o = &r->operations.items[i];
        if (o->kind != RECORD || o->event->recording != r) continue;
        o->event->recording = NULL;
        o->event->captured = true;
    }
    memset(flags, 0, r->operations.count * sizeof *flags);
    r->ran = flags;
    ++counts.recordings;
    pthread_mutex_unlock(&lock);
    if (joined && !refuses_recordings) {
        *result = r;
        return NULL;
    }
    recording_free(r);
    return ons_status_new(ONS_UNSUPPORTED, joined ? "a recording was told to fail" : "a recording is not joined");
}

static void recording_repeat(ons_stream *stream, ons_recording *recording) {
    pthread_mutex_lock(&lock);
    ++counts.repetitions;
    put_locked(stream, (operation){.kind = REPEAT, .recording = recording});
    pthread_mutex_unlock(&lock);
}

/* -------------------------------------------------------------------------------------------------------------- device
 */

static ons_status *failure(ons_device *device) {
    (void)device;
    pthread_mutex_lock(&lock);
    const char *what = broken;
    pthread_mutex_unlock(&lock);
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
    far_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return ons_status_out_of_memory();
    ons_device *device = &gpu->device;
    gpu->index = index;
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
        .title = "a far device",
        .total_bytes = total,
        .limit_bytes = limit_bytes,
        .reserve_bytes = reserve,
        .slack_bytes = total / FAR_SLACK_PART < FAR_SLACK ? total / FAR_SLACK_PART : FAR_SLACK,
    };
    *result = device;
    return NULL;
}

static const ons_device_kind far_kind = {
    .name = "cuda",
    .check = check,
    .count = count,
    .read_identity = read_identity,
    .device_new = device_new,
};

const ons_device_kind *const ons_device_kinds[] = {&ons_cpu_kind, &far_kind, NULL};
