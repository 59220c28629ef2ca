/* How an operator's files say which kernels a backend has for it (kernels.h).
 *
 *   kernels/softmax/softmax_cpu.c   ONS_KERNELS(cpu, softmax, ONS_KERNEL(softmax_prepare, softmax_run))
 *   kernels/softmax/softmax.cu      ONS_KERNELS(cuda, softmax, …)
 *
 * A backend's table is operators.inc expanded to such lists, so an operator without a file for a backend does not link.
 */
#ifndef ONSTAGE_KERNELS_BACKEND_H
#define ONSTAGE_KERNELS_BACKEND_H

#include "kernels/kernels.h"

#define ONS_KERNEL(PREPARE, RUN)                                                                                       \
    { (PREPARE), (RUN), NULL }
/* For operators of which graphs have many small nodes in a row. */
#define ONS_MULTI_TENSOR_KERNEL(PREPARE, RUN, RUN_MULTI_TENSOR)                                                        \
    { (PREPARE), (RUN), (RUN_MULTI_TENSOR) }

/* What a backend has for an operator. */
struct ons_kernel_list {
    const ons_kernel *kernels; /* best first */
    uint32_t count;
    const char *why_not; /* where there is none */
};

#ifdef __cplusplus
#define ONS_KERNEL_LINKAGE extern "C"
#else
#define ONS_KERNEL_LINKAGE extern
#endif

/* Ends a backend's file of an operator: defines ons_BACKEND_SYMBOL. */
#define ONS_KERNELS(BACKEND, SYMBOL, ...)                                                                              \
    ONS_KERNEL_LINKAGE const ons_kernel_list ons_##BACKEND##_##SYMBOL;                                                 \
    static const ons_kernel BACKEND##_kernels_of_##SYMBOL[] = {__VA_ARGS__};                                           \
    const ons_kernel_list ons_##BACKEND##_##SYMBOL = {                                                                 \
        BACKEND##_kernels_of_##SYMBOL, sizeof BACKEND##_kernels_of_##SYMBOL / sizeof BACKEND##_kernels_of_##SYMBOL[0], \
        NULL};

/* Where SYMBOL_cuda.c prepares what SYMBOL.cu runs, the usual list: ons_cuda_run_SYMBOL alone. */
#define ONS_CUDA_KERNEL(SYMBOL, PREPARE)                                                                               \
    extern ons_run_function ons_cuda_run_##SYMBOL;                                                                     \
    ONS_KERNELS(cuda, SYMBOL, ONS_KERNEL(PREPARE, ons_cuda_run_##SYMBOL))

#define ONS_NO_KERNEL(BACKEND, SYMBOL, WHY)                                                                            \
    ONS_KERNEL_LINKAGE const ons_kernel_list ons_##BACKEND##_##SYMBOL;                                                 \
    const ons_kernel_list ons_##BACKEND##_##SYMBOL = {NULL, 0, (WHY)};

/* A `find`: looks into backend->table. */
const ons_kernel_list *ons_backend_in_table(const ons_backend *backend, const ons_operator *op);

#endif
