/* A library with NCCL's functions, for ranks that are threads of one process with GPUs of
 * tests/fake_gpu/discrete_memory. Messages meet as strictly as they may: neither end goes on before both have come.
 * What is sent is compared with what is received: number, order, count and type of every pair of ranks. As in NCCL a
 * GPU has one rank, and the first message of a pair connects it.
 *
 * The program loads it in the place of libnccl.so.2 (ons_nccl_load_from) and finds this table by `fake_nccl_table`.
 */
#ifndef ONSTAGE_TESTS_FAKE_GPU_NCCL_FAKE_NCCL_H
#define ONSTAGE_TESTS_FAKE_GPU_NCCL_FAKE_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What it needs of the streams: tests/fake_gpu/discrete_memory/discrete_device.h. */
typedef struct fake_nccl_streams {
    void (*put_when)(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument);
    void (*wake)(void);
    int (*current_gpu)(void);
} fake_nccl_streams;

typedef struct fake_nccl_counts {
    int64_t comms, alive, connections, messages, meetings; /* alive: not aborted yet */
} fake_nccl_counts;

typedef struct fake_nccl {
    void (*use)(const fake_nccl_streams *streams);
    fake_nccl_counts (*counts)(void);
    /* The first thing that was wrong in how the functions were called; NULL: nothing. */
    const char *(*complaint)(void);
    /* From the `after`-th message from now on nothing of its communicator ends, which reports an error; 0: never. */
    void (*fail)(int64_t after);
    /* A run is to fail for another reason: ranks that hear of it ask for nothing more. */
    void (*let_fail)(void);
    /* The connecting of communicators that are made by the `after`-th call from now on fails; 0: never. */
    void (*fail_connecting)(int64_t after);
} fake_nccl;

const fake_nccl *fake_nccl_table(void);

#endif
