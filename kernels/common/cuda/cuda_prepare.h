/* For prepare functions of CUDA kernels: what they refuse, and the CPU's prepare functions in their place. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_PREPARE_H
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_PREPARE_H

#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/kernel.h"

/* Refuses operands in a layout other than ONNX's. */
ons_status *ons_cuda_require_plain(const ons_operands *o);
/* Refuses operands of the output's shape that do not all lie alike, and others that cannot be broadcast beside them
 * (ons_layout_broadcasts). */
ons_status *ons_cuda_require_alike(const ons_operands *o);
/* Refuses dtypes other than float32, float16, bfloat16. */
ons_status *ons_cuda_require_float(const ons_operands *o, ons_dtype dtype);
/* The failure of a CUDA kernel that lacks this dtype. */
ons_status *ons_cuda_refuse_dtype(const ons_operands *o, ons_dtype dtype);

/* What ons_cuda_prepare_typed leaves: the dtype of the node's floats, and the state of the CPU's kernel. */
typedef struct ons_cuda_typed {
    ons_dtype dtype;
    const void *state;
} ons_cuda_typed;
/* A prepare function of the CPU's float32 kernel, shown the node with float32 in place of a half type. All floats of
 * the node must be of one type. */
ons_status *ons_cuda_prepare_typed(ons_prepare *p, ons_prepare_function *prepare);
/* ons_cuda_prepare_typed for kernels that take what the operator's layout rule chooses. */
ons_status *ons_cuda_prepare_typed_as_it_lies(ons_prepare *p, ons_prepare_function *prepare);
/* ONS_CUDA_KERNEL for a kernel that is prepared by ons_cuda_prepare_typed. */
#define ONS_CUDA_TYPED_KERNEL(SYMBOL, PREPARE)                                                                         \
    static ons_status *SYMBOL##_prepare_typed(ons_prepare *p) { return ons_cuda_prepare_typed(p, PREPARE); }           \
    ONS_CUDA_KERNEL(SYMBOL, SYMBOL##_prepare_typed)

/* Another operator's prepare function, made for the CPU's float32 kernel but fit for CUDA. */
ons_status *ons_cuda_prepare_like_cpu(ons_prepare *p, ons_prepare_function *prepare);

#endif
