/* Kernels that are compiled while the program runs: by NVRTC, for the GPU that is there, kept in memory and in a folder
 * ($XDG_CACHE_HOME/onstage/kernels, or ~/.cache/onstage/kernels).
 *
 * Files of the folder are named after everything that the code depends on: text, headers, architecture, options and
 * NVRTC's version. They are written under another name and renamed, and begin with a sum over their bytes: what does
 * not fit is compiled anew.
 *
 * NVRTC may know the GPU that is there (its own code), only older ones (PTX of the nearest, which the driver compiles)
 * or only newer ones (an error): device/cuda_architecture.h.
 */
#ifndef ONSTAGE_DEVICE_CUDA_COMPILER_H
#define ONSTAGE_DEVICE_CUDA_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ons_cuda_header {
    const char *name; /* as #include has it */
    const char *text;
} ons_cuda_header;

enum { ONS_CUDA_FUNCTIONS = 2 };

typedef struct ons_cuda_source {
    const char *text;
    const ons_cuda_header *headers;
    uint32_t header_count;
    const char *functions[ONS_CUDA_FUNCTIONS]; /* extern "C" kernels of it */
} ons_cuda_source;

/* A loaded program; lives as long as the process. */
typedef struct ons_cuda_program ons_cuda_program;

/* Compiles and loads for the calling thread's GPU. The same source again gives the same program. Fails with
 * ONS_UNSUPPORTED and the reason where there is no GPU or no NVRTC, or it does not compile for this GPU. */
ons_status *ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **program);

/* Puts function `function` on a stream, with one structure as its argument, which is copied. What fails is told by the
 * device's `failure`. */
void ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream, int64_t blocks,
                             int threads, const void *arguments, size_t bytes);

/* The code alone, for `architecture` ("sm_90"; PTX for "compute_90"); NVRTC needs no GPU. `*image` is the caller's to
 * free. With a folder (NULL: none) it is looked for there first and put there; `*found` (may be NULL) says whether it
 * was. */
ons_status *ons_cuda_compile_image(const ons_cuda_source *source, const char *architecture, const char *folder,
                                   void **image, size_t *bytes, bool *found);

#endif
