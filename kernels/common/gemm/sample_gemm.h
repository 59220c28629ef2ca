/* A matrix product as a node of a model computes it, with whatever kernel of the backend serves its element type: for
 * whoever measures what products reach on a device. */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_SAMPLE_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_SAMPLE_GEMM_H

#include "kernels/backend.h"

typedef struct ons_sample_product ons_sample_product;

typedef struct ons_sample_product_options {
    const ons_backend *backend;
    ons_dtype dtype;
    int64_t edge; /* rows of both matrices, which are square */
    int threads;
    int64_t scratch_limit; /* bytes; INT64_MAX: no limit */
} ons_sample_product_options;

/* Fails where no kernel of the backend takes it. */
ons_status *ons_sample_product_new(const ons_sample_product_options *options, ons_sample_product **product);
void ons_sample_product_free(ons_sample_product *product); /* NULL is fine */

int64_t ons_sample_product_scratch_bytes(const ons_sample_product *product);
double ons_sample_product_flops(const ons_sample_product *product);

/* Of a run: all in the device's memory, and aligned as the backend wants scratch memory. Matrices are dense. */
typedef struct ons_sample_product_memory {
    const void *a, *b;
    void *c, *scratch;
    const ons_step *device_step; /* NULL where the host can access that memory */
    ons_fault *fault;            /* zero; a kernel that fails says so there */
} ons_sample_product_memory;

/* c = a b, by a task on a stream (`native`: see ons_task) whose teams have `threads` threads. */
void ons_sample_product_run(const ons_sample_product *product, uintptr_t native,
                            const ons_sample_product_memory *memory);

#endif
