/* What the parts of the fake CUDA runtime share. */
#ifndef ONSTAGE_TESTS_FAKE_GPU_CUDA_RUNTIME_FAKE_STATE_H
#define ONSTAGE_TESTS_FAKE_GPU_CUDA_RUNTIME_FAKE_STATE_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "tests/fake_gpu/cuda_runtime/fake_cuda.h"
#include "tests/fake_gpu/scheduler/scheduler.h"

enum { GPUS_MOST = 16 };

/* ---------------------------------------------------------------------------------------------------------- streams */

/* What a stream, an event and a recording are to the scheduler comes first in each. */

struct CUstream_st {
    gpu_stream scheduled;
};

struct CUevent_st {
    gpu_event scheduled;
    cudaEvent_t next; /* of all */
    int gpu;
    bool timed;
    bool destroyed;
    int queued; /* operations that know it */
};

/* What was captured; a graph and what has been made of it share it. */
typedef struct fake_graph {
    gpu_recording recorded;
    pthread_t thread;    /* that captures */
    const char *invalid; /* the call that made it so */
    int readers;
} fake_graph;

struct CUgraph_st {
    fake_graph *graph;
};

struct CUgraphExec_st {
    fake_graph *graph;
    int queued; /* repetitions that have not run */
    int gpu;
};

/* ----------------------------------------------------------------------------------------------------------- memory */

typedef struct fake_block {
    struct fake_block *next;
    char *address;
    size_t bytes;
    char *pages; /* of device memory; a page that is never accessible follows them */
    size_t page_bytes;
    int gpu; /* -1: pinned host memory */
} fake_block;

/* ------------------------------------------------------------------------------------------------------------ state */

/* With the lock of `scheduler`. */
typedef struct fake_state {
    cudaEvent_t events;
    fake_block *blocks;
    fake_cuda_left left;
    fake_cuda_counts counts;
    int64_t until[FAKE_CUDA_FAULTS]; /* calls until it fails; 0: never, -1: each does */
    int gpus, driver, major;
    bool asked;              /* for driver and GPUs */
    bool context[GPUS_MOST]; /* made */
    cudaError_t lost;        /* what stays */
    int64_t total, reserve;  /* bytes of each GPU; those of contexts */
    int64_t bytes_a_graph;   /* that is ready to run */
    int64_t told_total;      /* by its properties; 0: `total` */
    int64_t taken[GPUS_MOST];
    bool collects;
    char complaint[512];
} fake_state;

extern fake_state fake;
extern _Thread_local int fake_gpu;           /* the thread's current one */
extern _Thread_local fake_graph *fake_begun; /* the capture that the thread has begun */

/* Each function begins with fake_enter, which takes the lock, and ends with fake_leave, which keeps an error for
 * cudaGetLastError and gives the lock back. `name`: of the function. */
typedef enum fake_needs { NOTHING_MORE = 0, CONTEXT = 1, NO_CAPTURE = 2 } fake_needs;
cudaError_t fake_enter(const char *name, unsigned needs);
cudaError_t fake_leave(cudaError_t error);

/* Returns `error`, if it returns. */
cudaError_t fake_complain(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether it is this call that was told to fail. */
bool fake_fails(fake_cuda_fault fault);
void fake_lose(cudaError_t error);

bool fake_is_stream(cudaStream_t stream);
bool fake_is_event(cudaEvent_t event);
/* Complains about handles that are none (any more), and the default stream. */
cudaError_t fake_check_stream(cudaStream_t stream, const char *name);
cudaError_t fake_check_event(cudaEvent_t event, const char *name);

/* With the lock held: puts it on the stream, or into what is captured there. */
void fake_put_locked(cudaStream_t stream, gpu_operation operation);
void fake_drop_operation(gpu_operation *operation);
/* NULL: the stream does not capture. */
fake_graph *fake_capture(cudaStream_t stream);
void fake_let_go(cudaEvent_t event); /* if it is destroyed and no operation knows it */
void fake_graph_release(fake_graph *graph);
/* The host may access device memory in between alone. */
void fake_open_memory(bool open);

fake_block *fake_block_of(const void *address, size_t bytes); /* NULL: none of ours */
uint64_t fake_sum(const void *memory, size_t bytes);
/* Calls `look` for every operation that has not run, those of graphs included, until it returns true. */
bool fake_any_pending(bool (*look)(const gpu_operation *operation, const void *argument), const void *argument);
bool fake_overlaps(const void *a, size_t a_bytes, const void *b, size_t b_bytes);
/* Sums of what the graph's copies read from the host, for each node. */
uint64_t *fake_watch(const fake_graph *graph);
/* Puts work on a stream where a library or an emulated kernel does. */
void fake_put_work(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument), void *argument);
/* It waits there until `ready(argument)`. */
void fake_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument);

#endif
