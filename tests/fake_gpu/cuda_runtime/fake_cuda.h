/* The CUDA runtime without a GPU: the functions that the program calls, in the place of libcudart, so that
 * device/cuda.c itself is tested.
 *
 * What CUDA's documentation forbids, leaves open, or punishes with a crash on some machines is a complaint, which ends
 * the program with a message: calls that a capture does not allow, events and streams of the wrong life or GPU, memory
 * that is changed or freed while a copy needs it, launches beyond the limits, anything before the driver has been asked
 * for. Work runs when somebody waits for it, from streams that are chosen at random; the host cannot touch device
 * memory. Kernels are those of tests/rooms/kernels/emulation.
 */
#ifndef ONSTAGE_TESTS_FAKE_GPU_CUDA_RUNTIME_FAKE_CUDA_H
#define ONSTAGE_TESTS_FAKE_GPU_CUDA_RUNTIME_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cuda_library.h"

typedef struct fake_cuda_counts {
    int64_t calls;           /* of any function that may fail */
    int64_t kernels, copies; /* put by the host, not by repeated graphs; kernels: fills, too */
    int64_t pageable_copies; /* of `copies`: from the host's memory that is not pinned, which wait for the stream */
    int64_t graphs, repetitions, allocations;
    int64_t waits; /* of the host, for events */
} fake_cuda_counts;

/* Since the program began. */
fake_cuda_counts fake_cuda_get_counts(void);

/* What has been made and not destroyed, and has been taken and not freed. */
typedef struct fake_cuda_left {
    int streams, events, graphs, executables, device_blocks, host_blocks;
} fake_cuda_left;
fake_cuda_left fake_cuda_get_left(void);
bool fake_cuda_nothing_left(void);

/* For tests of the complaints: they are kept, and the call returns an error, in place of ending the program. The
 * first since the last call of this; NULL: none. */
const char *fake_cuda_collect(void);

/* What is to go wrong, from now on. `at`: the number of the call or kernel that fails, from 1; 0: none, -1: all. */
typedef enum fake_cuda_fault {
    FAKE_CUDA_REFUSE_MEMORY,      /* of the device */
    FAKE_CUDA_REFUSE_HOST_MEMORY, /* pinned */
    FAKE_CUDA_REFUSE_OBJECT,      /* a stream or an event */
    FAKE_CUDA_REFUSE_LAUNCH,      /* the launch returns an error */
    FAKE_CUDA_BREAK_KERNEL,       /* it runs into an error, which stays */
    FAKE_CUDA_REFUSE_CAPTURE,     /* when it ends */
    FAKE_CUDA_REFUSE_GRAPH,       /* when it is made ready */
    FAKE_CUDA_LOSE_DEVICE,        /* any call; from then on all fail */
    FAKE_CUDA_FAULTS,
} fake_cuda_fault;
void fake_cuda_fail(fake_cuda_fault fault, int64_t at);
bool fake_cuda_is_to_fail(fake_cuda_fault fault); /* it has not yet */

/* What loads libraries but NCCL's; NULL: none is there. */
extern ons_status *(*fake_cuda_load)(const char *file, const ons_cuda_symbol *symbols);

/* The machine: GPUs (1 at first), driver (13000; 0: none), compute capability (9). Before the first call. */
void fake_cuda_machine(int gpus, int driver, int major);

#endif
