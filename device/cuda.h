/* NVIDIA GPUs behind the table of device/device.h.
 *
 * Memory is taken by one cudaMalloc a block, the host's pool is pinned, streams are CUDA's and non-blocking, events are
 * CUDA's without timing. Each device belongs to one GPU; several devices may share one, each with streams and arena of
 * its own.
 *
 * A build without CUDA (no --config=cuda) has these functions too: they say so.
 */
#ifndef ONSTAGE_DEVICE_CUDA_H
#define ONSTAGE_DEVICE_CUDA_H

#include "device/device.h"

/* Whether this build, the driver and a GPU are there; a failure says which is not and what to do. */
ons_status *ons_cuda_check(void);

/* How many GPUs there are; 0 where ons_cuda_check fails. */
int ons_cuda_count(void);

/* What tells the GPUs of a machine apart, whatever numbers processes give them: the bus and the place on it. */
enum { ONS_CUDA_IDENTITY_BYTES = 32 };
ons_status *ons_cuda_read_identity(int index, char identity[static ONS_CUDA_IDENTITY_BYTES]);

/* Before any other call, where NCCL may be used: kernels come to the GPU when the program starts. Loading one later may
 * wait for all that runs there, and what runs there may wait for another GPU. A user's CUDA_MODULE_LOADING stays. */
void ons_cuda_load_early(void);

/* GPU number `index`, from 0. `limit_bytes` caps what is allocated on it (0: none). */
ons_status *ons_cuda_device_new(int index, int64_t limit_bytes, ons_device **device);

/* The GPU that this thread's calls go to: 0 unless a device's functions have been called on it. */
int ons_cuda_current(void);

/* The GPU's memory as the driver sees it, context and other processes included. */
typedef struct ons_cuda_memory {
    int64_t free_bytes, total_bytes;
} ons_cuda_memory;
ons_status *ons_cuda_memory_now(int index, ons_cuda_memory *memory);

/* For kernels, which cannot fail: notes that a call into a library went wrong. `what` is static text and names the
 * call. The first note is kept and told by every CUDA device's `failure`. */
void ons_cuda_note(int code, const char *what);

#endif
