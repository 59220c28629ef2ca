/* Where the emulated GPU's work goes. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_EMULATION_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_EMULATION_H

#include <stddef.h>
#include <stdint.h>

/* Work that a launch puts on a stream: `run(argument)` does it, as often as one likes; then `drop(argument)`. */
typedef void ons_emulation_put_function(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument),
                                        void *argument);

/* NULL: work is done where it is launched. One piece of work at a time may run. */
extern ons_emulation_put_function *ons_emulation_put;

/* A launch, for whoever knows what a GPU allows. */
typedef struct ons_emulation_kernel {
    unsigned grid[3], block[3];
    size_t shared_bytes, argument_bytes;
    const void *const *arguments;
    const size_t *sizes; /* of each, in bytes */
    int count;
} ons_emulation_kernel;

/* The runtime's part; errors are cudaError_t. */
typedef struct ons_emulation_runtime {
    int (*launch)(uintptr_t stream, const ons_emulation_kernel *kernel, void (*run)(void *argument),
                  void (*drop)(void *argument), void *argument);
    int (*copy)(void *to, const void *from, size_t bytes, uintptr_t stream); /* within the GPU's memory */
    int (*fill)(void *to, int value, size_t bytes, uintptr_t stream);
} ons_emulation_runtime;

/* NULL: launches, copies and fills go to ons_emulation_put. */
extern const ons_emulation_runtime *ons_emulation_kernels;

#endif
