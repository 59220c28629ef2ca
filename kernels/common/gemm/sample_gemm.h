/* A matrix product as a node of a model computes it, with whatever kernel of the backend serves its element type: for
 * whoever measures what products reach on a device. */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_SAMPLE_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_SAMPLE_GEMM_H

#include "kernels/backend.h"

typedef struct ons_sample_gemm ons_sample_gemm;

typedef struct ons_sample_gemm_options {
    const ons_backend *backend;
    ons_dtype dtype;
    int64_t edge; /* rows of both matrices, which are square */
    int threads;
    int64_t scratch_limit; /* bytes; INT64_MAX: no limit */
} ons_sample_gemm_options;

/* Fails where no kernel of the backend takes it. */
ons_status *ons_sample_gemm_new(const ons_sample_gemm_options *options, ons_sample_gemm **product);
void ons_sample_gemm_free(ons_sample_gemm *product); /* NULL is fine */

int64_t ons_sample_gemm_scratch_bytes(const ons_sample_gemm *product);
double ons_sample_gemm_flops(const ons_sample_gemm *product);

/* Of a run: all in the device's memory, and aligned as the backend wants scratch memory. Matrices are dense. */
typedef struct ons_sample_gemm_memory {
    const void *a, *b;
    void *c, *scratch;
    const ons_step *device_step; /* NULL where the host can access that memory */
    ons_fault *fault;            /* zero; a kernel that fails says so there */
} ons_sample_gemm_memory;

/* c = a b, by a task on a stream (`native`: see ons_task) whose teams have `threads` threads. */
void ons_sample_gemm_run(const ons_sample_gemm *product, uintptr_t native, const ons_sample_gemm_memory *memory);

#endif
