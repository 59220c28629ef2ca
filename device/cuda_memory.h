/* Whose the GPU's memory is: ours (arenas), or context's, modules' and libraries' (the reserve).
 *
 * What is free before this process has a context is asked of the driver's management library, since CUDA itself cannot
 * tell without one. The reserve is what has gone since and is not ours. It is of the process and counts once, however
 * many devices share the GPU. What other processes take meanwhile counts as well. Where that library is missing, all
 * that is not free and not ours does.
 */
#ifndef ONSTAGE_DEVICE_CUDA_MEMORY_H
#define ONSTAGE_DEVICE_CUDA_MEMORY_H

#include <stdint.h>

/* The GPU's memory as the driver sees it, context and other processes included. */
typedef struct ons_cuda_memory {
    int64_t free_bytes, total_bytes;
} ons_cuda_memory;

/* Notes what is free on GPU `index`, once. `place`: its PCI bus id. */
void ons_cuda_memory_note(int index, const char *place);

/* More of it is ours, or less. */
void ons_cuda_memory_count(int index, int64_t bytes);

int64_t ons_cuda_reserve(int index, const ons_cuda_memory *now);

#endif
