/* NVIDIA GPUs behind the table of device/device.h: ons_cuda_kind (device/device_kind.h) makes them.
 *
 * Memory is taken by one cudaMalloc a block, the host's pool is pinned, streams are CUDA's and non-blocking, events are
 * CUDA's without timing. Each device belongs to one GPU; several devices may share one, each with streams and arena of
 * its own.
 *
 * What stands here is for the kernels of the CUDA backend.
 */
#ifndef ONSTAGE_DEVICE_CUDA_H
#define ONSTAGE_DEVICE_CUDA_H

/* The GPU that this thread's calls go to: 0 unless a device's functions have been called on it. */
int ons_cuda_current(void);

/* For kernels, which cannot fail: notes that a call into a library went wrong. `what` is static text and names the
 * call; `reason` is what the library says of it, NULL: nothing. The first note is kept and told by every CUDA device's
 * `failure`. */
void ons_cuda_note(int code, const char *what, const char *reason);

/* For tests, which go on where a library has refused one call: forgets the note. */
void ons_cuda_forget(void);

#endif
