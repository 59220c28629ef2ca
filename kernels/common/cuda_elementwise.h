/* Elementwise operators on CUDA: how the operands are walked. The device's part is cuda_elementwise.cuh. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_ELEMENTWISE_H
#define ONSTAGE_KERNELS_COMMON_CUDA_ELEMENTWISE_H

#include "kernels/common/kernel.h"

enum { ONS_CUDA_OPERANDS = 4, ONS_CUDA_PARAMETERS = 4 };

typedef struct ons_cuda_elementwise {
    ons_dtype dtype;                                  /* of input 0 */
    ons_dtype output_dtype;                           /* of output 0 */
    uint32_t input_count;                             /* those that are there */
    int64_t elements;                                 /* of the output */
    uint32_t rank;                                    /* after merging neighbouring dimensions; at least 1 */
    int64_t dims[ONS_RANK_MAX];                       /* innermost first */
    int64_t strides[ONS_CUDA_OPERANDS][ONS_RANK_MAX]; /* in elements; 0 where an input repeats */
    float parameters[ONS_CUDA_PARAMETERS];            /* the float attributes, in order */
} ons_cuda_elementwise;

/* ---- each is an ons_prepare_function with such a state; they refuse other dtypes of input 0, and layouts of the CPU's
 */
ons_status *ons_cuda_float_prepare(ons_prepare *p);  /* float32, float16, bfloat16 */
ons_status *ons_cuda_number_prepare(ons_prepare *p); /* these, int64, int32 */
ons_status *ons_cuda_any_prepare(ons_prepare *p);    /* these, bool, uint8 */
ons_status *ons_cuda_bool_prepare(ons_prepare *p);

/* The same state for kernels that go through input 0 from end to end: `elements` are its own, of a float dtype; nothing
 * is broadcast. */
ons_status *ons_cuda_flat_prepare(ons_prepare *p);

/* For prepare functions of CUDA kernels: refuses operands in a layout other than ONNX's. */
ons_status *ons_cuda_require_plain(const ons_operands *o);
/* Refuses dtypes other than float32, float16, bfloat16. */
ons_status *ons_cuda_require_float(const ons_operands *o, ons_dtype dtype);
/* Another operator's prepare function, made for the CPU's float32 kernel but fit for CUDA. */
ons_status *ons_cuda_prepare_like_cpu(ons_prepare *p, ons_prepare_function *prepare);

#endif
