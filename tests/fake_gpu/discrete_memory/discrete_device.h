/* A GPU without a GPU: memory that the host must not touch, and work that is done when somebody waits for it.
 *
 * They are of a kind of their own, in the place of CUDA's in the list (device/device_kind.h). Their memory can be
 * accessed while work runs that was put on a stream, and at no other time: whoever else reads or writes it crashes.
 * Kernels are the .cu files on the emulated GPU. Nothing runs before a thread waits for an event; then whatever may run
 * does, from streams that are chosen at random (discrete_seed): what lacks an event to wait for, and host memory that
 * is used again too early, shows as other results. A wait for an event that was never recorded is a failure: on a GPU
 * it would wait for nothing.
 */
#ifndef ONSTAGE_TESTS_FAKE_GPU_DISCRETE_MEMORY_DISCRETE_DEVICE_H
#define ONSTAGE_TESTS_FAKE_GPU_DISCRETE_MEMORY_DISCRETE_DEVICE_H

#include "device/device.h"

typedef struct discrete_counts {
    int64_t kernels, copies; /* that were put on streams by the host, not by a repetition */
    int64_t recordings, repetitions;
    int64_t allocations; /* blocks of device memory */
    int64_t waits;       /* of the host, for events */
} discrete_counts;

/* Since the program began. */
discrete_counts discrete_get_counts(void);

/* Of the copies that were put on streams of one name: how many, and what the host had done before the last of them. */
typedef struct discrete_stream_copies {
    int64_t copies;
    int64_t kernels, waits; /* as in discrete_counts, up to then */
} discrete_stream_copies;

/* Of the streams that are called "samples" (runtime/pipeline/samples_ahead.h), since the program began. */
discrete_stream_copies discrete_get_sample_copies(void);

/* Of the choice among streams, from here on. */
void discrete_seed(uint64_t seed);

/* Bytes that the next devices say that their context takes. */
void discrete_reserve(int64_t bytes);

/* Bytes that every recording is said to take as long as it is there. */
void discrete_recording_takes(int64_t bytes);

/* What a cap leaves beside the arena and that on devices of 16 GiB, as device/cuda.c does; on smaller ones no more than
 * a 16th of them. */
enum { FAR_SLACK = 64 << 20, FAR_SLACK_PART = 16 };

/* What the next devices say that they have in all; 16 GiB at first. */
void discrete_total(int64_t bytes);

/* Makes every device report a failure from the `after`-th piece of work from now on; 0: never. */
void discrete_break(int64_t after);

/* GPUs that there are, 1 at first. */
void discrete_gpus(int count);
/* The one that this thread's last launch or device call went to. */
int discrete_current_gpu(void);

/* Puts `run(argument)` on a stream, where it waits until `ready(argument)`; both may be called more than once. */
void discrete_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument);
/* What is waited for may have become ready by something else than work on streams. */
void discrete_wake(void);

/* Whether recordings fail at their end, from now on. */
void discrete_refuse_recordings(bool refuse);

#endif
