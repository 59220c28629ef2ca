/* A matrix product as a node of a model computes it on the CPU, with whatever kernel serves its element type: for
 * whoever measures what products reach on this machine. */
#ifndef ONSTAGE_KERNELS_COMMON_SAMPLE_PRODUCT_H
#define ONSTAGE_KERNELS_COMMON_SAMPLE_PRODUCT_H

#include "graph/type.h"

typedef struct ons_sample_product ons_sample_product;

/* Of two square matrices of `edge` rows, by `threads` threads. Fails where no kernel serves the type. */
ons_status *ons_sample_product_new(ons_dtype dtype, int64_t edge, int threads, ons_sample_product **product);
void ons_sample_product_free(ons_sample_product *product); /* NULL is fine */

int64_t ons_sample_product_scratch_bytes(const ons_sample_product *product);
double ons_sample_product_flops(const ons_sample_product *product);

/* c = a b, on a thread whose teams have `threads` threads. All four are aligned to 64 bytes; matrices are dense. False
 * where the kernel reports a fault. */
bool ons_sample_product_run(const ons_sample_product *product, const void *a, const void *b, void *c, void *scratch);

#endif
