#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "device/device.h"

enum { QUEUE = 1024 }; /* commands a stream holds before its user waits; a power of two */

struct ons_event {
    pthread_mutex_t lock;
    pthread_cond_t reached_more;
    uint64_t recorded;        /* records put on a stream so far; read and written by the host only */
    _Atomic uint64_t reached; /* records passed by the stream; written under the lock */
};

typedef enum command_kind { COMMAND_TASK, COMMAND_COPY, COMMAND_RECORD, COMMAND_WAIT, COMMAND_STOP } command_kind;

typedef struct command {
    command_kind kind;
    union {
        struct {
            ons_task *run;
            void *argument;
        } task;
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            ons_event *event;
            uint64_t number;
        } mark;
    };
} command;

struct ons_stream {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is something to take */
    pthread_cond_t space;
    _Atomic uint64_t put; /* commands so far; both are written under the lock */
    uint64_t taken;
    int waiting; /* users for whom the queue was full */
    int threads;
    int team; /* threads that OpenMP gives; 0: not known yet */
    bool pin;
    command queue[QUEUE];
};

typedef struct cpu_device {
    ons_device device; /* first: what the caller holds */
    bool pin;
} cpu_device;

int ons_cpu_count(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static ons_status *allocate(ons_device *device, int64_t bytes, void **address) {
    ONS_CHECK(device->limit_bytes == 0 || device->used_bytes + bytes <= device->limit_bytes, ONS_OUT_OF_MEMORY,
              "%lld bytes of device memory are needed, the cap is %lld", (long long)(device->used_bytes + bytes),
              (long long)device->limit_bytes);
    /* The system's pages are zeros. They come when they are first written, in the first step at the latest, by the
     * thread that writes them: what nothing writes is never taken, and training begins without a pass over all memory.
     */
    size_t length = bytes > 0 ? (size_t)bytes : 1;
    *address = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ONS_CHECK(*address != MAP_FAILED, ONS_OUT_OF_MEMORY, "the machine has no %lld bytes of memory free",
              (long long)bytes);
    madvise(*address, length, MADV_HUGEPAGE);
    device->used_bytes += bytes;
    return NULL;
}

static void release(ons_device *device, void *address, int64_t bytes) {
    if (address == NULL) return;
    munmap(address, bytes > 0 ? (size_t)bytes : 1);
    device->used_bytes -= bytes;
}

static ons_status *allocate_host(ons_device *device, int64_t bytes, void **address) {
    (void)device;
    *address = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    return *address == NULL ? ons_status_out_of_memory() : NULL;
}

static void release_host(ons_device *device, void *address, int64_t bytes) {
    (void)device, (void)bytes;
    free(address);
}

/* ---------------------------------------------------------------------------------------------------------- waiting */

/* To wake a thread takes tens of microseconds where its processor has gone to sleep: longer than most copies and many
 * kernels. So whoever waits looks for a while first, but only as long as a processor has nothing else to do. */
enum { LOOK_NANOSECONDS = 100000 };

static atomic_int processors; /* that this process may use */
static atomic_int at_work;    /* threads that run commands, or look */

/* Returns when the counter has come to `wanted`, or does not do so soon. */
static void look_for(const _Atomic uint64_t *counter, uint64_t wanted) {
    if (atomic_load_explicit(counter, memory_order_relaxed) >= wanted) return;
    if (atomic_fetch_add(&at_work, 1) < atomic_load(&processors)) {
        int64_t until = ons_clock_nanoseconds() + LOOK_NANOSECONDS;
        while (atomic_load_explicit(counter, memory_order_relaxed) < wanted && ons_clock_nanoseconds() < until)
            sched_yield();
    }
    atomic_fetch_sub(&at_work, 1);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

/* Two threads of a team on one processor cost milliseconds a parallel region: the one that spins at the barrier keeps
 * the other from working. So each gets a processor of its own for as long as the stream lives. */
static void pin_team(int threads) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
#pragma omp parallel num_threads(threads)
    {
        int wanted = omp_get_thread_num();
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
            cpu_set_t own;
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
            sched_setaffinity(0, sizeof own, &own);
            break;
        }
    }
}

/* Libraries of kernels take and give back aligned buffers of about a megabyte in every run. glibc cuts the alignment
 * off them as pieces of a few bytes, of which each thread keeps the first ones for itself, so that the hole between two
 * of them is too small for the next buffer, and the heap grows by one for each piece: by up to 28 MB. A thread that has
 * as many small pieces as it ever keeps (7 or 16 of a size) gives those back. */
static void fill_thread_cache(void) {
#ifdef __GLIBC__
    enum { STEP = 16, LARGEST = 160, KEPT = 16, COUNT = KEPT * LARGEST / STEP };
    void *volatile pieces[COUNT]; /* no compiler may leave them out */
    for (int i = 0; i < COUNT; ++i) pieces[i] = malloc((size_t)(i / KEPT + 1) * STEP);
    for (int i = 0; i < COUNT; ++i) free(pieces[i]);
#endif
}

static void event_reach(ons_event *event, uint64_t number) {
    pthread_mutex_lock(&event->lock);
    event->reached = number;
    pthread_cond_broadcast(&event->reached_more);
    pthread_mutex_unlock(&event->lock);
}

static void event_wait(ons_event *event, uint64_t number) {
    look_for(&event->reached, number);
    pthread_mutex_lock(&event->lock);
    while (event->reached < number) pthread_cond_wait(&event->reached_more, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

/* False when the stream ends. */
static bool execute(const ons_stream *stream, const command *c) {
    switch (c->kind) {
    case COMMAND_TASK:
        atomic_fetch_add(&at_work, stream->threads);
        c->task.run(c->task.argument, 0);
        atomic_fetch_sub(&at_work, stream->threads);
        return true;
    case COMMAND_COPY:
        atomic_fetch_add(&at_work, 1);
        memcpy(c->copy.to, c->copy.from, c->copy.bytes);
        atomic_fetch_sub(&at_work, 1);
        return true;
    case COMMAND_RECORD: event_reach(c->mark.event, c->mark.number); return true;
    case COMMAND_WAIT: event_wait(c->mark.event, c->mark.number); return true;
    case COMMAND_STOP: break;
    }
    return false;
}

/* The thread of a stream says once how many threads OpenMP gives it. */
static void tell_team(ons_stream *stream, int team) {
    pthread_mutex_lock(&stream->lock);
    stream->team = team;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

static int await_team(ons_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    while (stream->team == 0) pthread_cond_wait(&stream->changed, &stream->lock);
    int team = stream->team;
    pthread_mutex_unlock(&stream->lock);
    return team;
}

static void *stream_main(void *argument) {
    ons_stream *stream = argument;
    omp_set_num_threads(stream->threads);
    omp_set_dynamic(0);
    if (stream->pin) pin_team(stream->threads);
    int team = 1;
#pragma omp parallel num_threads(stream->threads) if (stream->threads > 1)
    {
        if (omp_get_thread_num() == 0) team = omp_get_num_threads();
        fill_thread_cache();
    }
    tell_team(stream, team);
    for (bool going = true; going;) {
        look_for(&stream->put, stream->taken + 1);
        pthread_mutex_lock(&stream->lock);
        while (stream->put == stream->taken) pthread_cond_wait(&stream->changed, &stream->lock);
        command next = stream->queue[stream->taken % QUEUE];
        pthread_mutex_unlock(&stream->lock);
        going = execute(stream, &next);
        pthread_mutex_lock(&stream->lock);
        ++stream->taken; /* only now: a full queue counts what is running */
        if (stream->waiting > 0 && stream->put - stream->taken <= QUEUE / 2) pthread_cond_broadcast(&stream->space);
        pthread_mutex_unlock(&stream->lock);
    }
    return NULL;
}

/* A user who found the queue full is not woken for every command, but when half of it is free. */
static void put(ons_stream *stream, command c) {
    pthread_mutex_lock(&stream->lock);
    if (stream->put - stream->taken == QUEUE) {
        ++stream->waiting;
        while (stream->put - stream->taken > QUEUE / 2) pthread_cond_wait(&stream->space, &stream->lock);
        --stream->waiting;
    }
    stream->queue[stream->put % QUEUE] = c;
    ++stream->put;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

static void stream_free(ons_stream *stream);

static ons_status *stream_new(ons_device *device, const char *name, int threads, ons_stream **result) {
    ons_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return ons_status_out_of_memory();
    stream->threads = threads;
    stream->pin = ((cpu_device *)device)->pin && threads > 1;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    pthread_cond_init(&stream->space, NULL);
    int failure = pthread_create(&stream->thread, NULL, stream_main, stream);
    if (failure != 0) {
        free(stream);
        return ons_status_system(failure, "cannot start a thread for stream '%s'", name);
    }
    pthread_setname_np(stream->thread, name);
    /* Kernels are prepared for `threads` threads; a smaller team would leave parts of their results uncomputed. */
    int team = await_team(stream);
    if (team != threads) {
        stream_free(stream);
        return ons_status_new(ONS_INVALID_ARGUMENT,
                              "OpenMP gives %d of the %d threads that were asked for; take --threads %d, or unset "
                              "OMP_THREAD_LIMIT and OMP_MAX_ACTIVE_LEVELS",
                              team, threads, team);
    }
    *result = stream;
    return NULL;
}

static void stream_free(ons_stream *stream) {
    if (stream == NULL) return;
    put(stream, (command){.kind = COMMAND_STOP});
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_cond_destroy(&stream->space);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

static void launch(ons_stream *stream, ons_task *task, void *argument) {
    put(stream, (command){.kind = COMMAND_TASK, .task = {task, argument}});
}

static void copy(ons_stream *stream, void *to, const void *from, size_t bytes) {
    put(stream, (command){.kind = COMMAND_COPY, .copy = {to, from, bytes}});
}

/* ----------------------------------------------------------------------------------------------------------- events */

static ons_status *event_new(ons_device *device, ons_event **result) {
    (void)device;
    ons_event *event = calloc(1, sizeof *event);
    if (event == NULL) return ons_status_out_of_memory();
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->reached_more, NULL);
    *result = event;
    return NULL;
}

static void event_free(ons_event *event) {
    if (event == NULL) return;
    pthread_cond_destroy(&event->reached_more);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static void event_record(ons_stream *stream, ons_event *event) {
    put(stream, (command){.kind = COMMAND_RECORD, .mark = {event, ++event->recorded}});
}

static void stream_wait(ons_stream *stream, ons_event *event) {
    put(stream, (command){.kind = COMMAND_WAIT, .mark = {event, event->recorded}});
}

static void event_synchronize(ons_event *event) { event_wait(event, event->recorded); }

static ons_status *failure(ons_device *device) {
    (void)device;
    return NULL;
}

static void device_free(ons_device *device) { free(device); }

ons_status *ons_cpu_device_new(int64_t limit_bytes, bool pin, ons_device **result) {
    cpu_device *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL) return ons_status_out_of_memory();
    cpu->pin = pin;
    atomic_store(&processors, ons_cpu_count());
    cpu->device = (ons_device){
        .name = "cpu",
        .host_can_access = true,
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
        .failure = failure,
        .free = device_free,
        .limit_bytes = limit_bytes,
    };
    *result = &cpu->device;
    return NULL;
}
