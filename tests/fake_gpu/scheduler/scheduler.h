/* Streams, events and recordings of GPUs that are not there, and when what was put on them runs: nothing before
 * somebody waits, and then in any order that events allow, by chance. The device with discrete memory
 * (tests/fake_gpu/discrete_memory/discrete_device.c) and the fake of CUDA's runtime (tests/fake_gpu/cuda_runtime) are
 * made on it: they say what an operation does, and what may not be asked for.
 */
#ifndef ONSTAGE_TESTS_FAKE_GPU_SCHEDULER_SCHEDULER_H
#define ONSTAGE_TESTS_FAKE_GPU_SCHEDULER_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/vector.h"

typedef struct gpu_stream gpu_stream;
typedef struct gpu_event gpu_event;
typedef struct gpu_recording gpu_recording;

typedef enum gpu_kind { KERNEL, FILL, COPY, RECORD, AWAIT, REPEAT } gpu_kind;

typedef struct gpu_operation {
    gpu_kind kind;
    void (*run)(void *argument);   /* KERNEL */
    bool (*ready)(void *argument); /* KERNEL; NULL: at once */
    void (*drop)(void *argument);
    void *argument;
    void *to; /* COPY, FILL */
    const void *from;
    size_t bytes;
    int value;
    void *staged;         /* COPY from memory that may change: what stood there */
    uint64_t sum;         /* COPY: of the host's memory, which must stay as it is until then; 0: others write there */
    uint64_t *sums;       /* REPEAT: for each operation what `sum` is for one; NULL: none */
    const void **touches; /* KERNEL: addresses among its arguments */
    size_t touch_count;
    gpu_event *event; /* RECORD, AWAIT */
    uint64_t number;
    gpu_recording *recording; /* REPEAT */
    size_t after[2];          /* of a recording: what must have run before, NOTHING or its index */
} gpu_operation;

#define NOTHING SIZE_MAX

typedef ONS_VECTOR(gpu_operation) gpu_operations;

struct gpu_stream {
    gpu_stream *next; /* of all */
    int gpu;
    gpu_operations queue;
    size_t done;
    gpu_recording *recording; /* what is put on it goes there */
    size_t last;              /* put on it there, or NOTHING */
};

struct gpu_event {
    uint64_t recorded, reached;
    double time;              /* when, by the host's clock, in seconds */
    gpu_recording *recording; /* recorded last while this was being made */
    size_t place;             /* in it */
    bool captured;            /* recorded last in a recording that has ended */
};

struct gpu_recording {
    gpu_operations operations; /* in the order in which they were put: one in which they can run */
    gpu_stream *origin;
    bool *ran; /* each of them, in the repetition that runs; NULL: it is still being made */
    size_t ran_count;
};

/* What a fake says; all are called with the lock held. */
typedef struct gpu_rules {
    void (*run)(const gpu_operation *operation, uint64_t sum); /* KERNEL, FILL, COPY; `sum`: as in a copy */
    void (*drop)(gpu_operation *operation);                    /* has run, and leaves its stream */
    void (*open_memory)(bool open);                            /* the host may access device memory in between alone */
    bool (*is_lost)(void);                                     /* nothing runs any more */
} gpu_rules;

typedef struct gpu_scheduler {
    pthread_mutex_t lock; /* of all: what a test needs is order, not speed */
    pthread_cond_t put_more;
    gpu_stream *streams;
    uint64_t random_state;
} gpu_scheduler;

extern gpu_scheduler scheduler;
extern const gpu_rules gpu_rules_of_fake; /* the fake defines them */

/* The choice among streams, from here on. */
void gpu_seed(uint64_t seed);
/* Wakes who waits: what is waited for may have become ready by something else than work on streams. */
void gpu_wake(void);

/* All that follow: with the lock held. */
uint64_t gpu_draw(void);
void gpu_add_stream(gpu_stream *stream);
void gpu_remove_stream(gpu_stream *stream); /* frees its queue */
/* Puts it on the stream, or into what is recorded there. */
void gpu_put(gpu_stream *stream, gpu_operation operation);
/* The stream joins the event's recording, where it is in none; whether they are of the same one then. */
bool gpu_join(gpu_stream *stream, const gpu_event *event);
/* Runs what may run until an event is reached, or (event NULL) a stream is empty; at once where the device is lost. */
void gpu_run_until(const gpu_event *event, uint64_t number, const gpu_stream *stream);

void gpu_begin_recording(gpu_recording *recording, gpu_stream *origin);
/* Ends it, on all its streams; whether the first one has waited for all of it. Events are the fake's to tell. */
bool gpu_end_recording(gpu_recording *recording);

#endif
