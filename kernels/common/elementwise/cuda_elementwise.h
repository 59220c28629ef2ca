/* Elementwise operators on CUDA: how the operands are walked. The device's part is cuda_elementwise.cuh. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CUDA_ELEMENTWISE_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CUDA_ELEMENTWISE_H

#include "kernels/common/cuda/cuda_prepare.h"

enum { ONS_CUDA_OPERANDS = 4, ONS_CUDA_PARAMETERS = 4 };

typedef struct ons_cuda_elementwise {
    ons_dtype dtype;                                  /* of input 0 */
    ons_dtype second_dtype;                           /* of input 1, where there is one */
    ons_dtype output_dtype;                           /* of output 0 */
    uint32_t input_count;                             /* of the node */
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
ons_status *ons_cuda_cast_prepare(ons_prepare *p); /* input 0 alone, from any of these dtypes to any */
ons_status *ons_cuda_move_prepare(ons_prepare *p); /* all: elements are moved, not looked at */

/* For operators whose further inputs are single numbers: the first `count` inputs alone, of one float type. */
ons_status *ons_cuda_leading_prepare(ons_prepare *p, uint32_t count);

/* Any number of operands, joined two at a time: step 0 joins inputs 0 and 1 (of a single one it copies), step k what
 * came of that, in the scratch, with input k + 1. Every step's parameter 0 is 1, the last one's the number of operands.
 */
typedef struct ons_cuda_variadic {
    uint32_t steps;
    const ons_cuda_elementwise *step;
} ons_cuda_variadic;
ons_status *ons_cuda_variadic_prepare(ons_prepare *p);

/* An ons_cuda_elementwise for kernels that go through input 0 from end to end: `elements` are its own, of a float
 * dtype; nothing is broadcast. */
ons_status *ons_cuda_flat_prepare(ons_prepare *p);

#endif
