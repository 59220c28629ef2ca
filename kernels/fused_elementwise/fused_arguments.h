/* What a kernel made at run time is given, alike for the host and the device: see fused.cuh. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_ARGUMENTS_H
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_ARGUMENTS_H

#ifndef __CUDACC_RTC__
#include <stdint.h>
#endif

enum {
    ONS_FUSED_INPUTS = 12,
    ONS_FUSED_OUTPUTS = 8,
    ONS_FUSED_STEPS = 24,
    ONS_FUSED_JOINS = 40, /* a variadic step of n operands has n - 1 */
    ONS_FUSED_RANK = 8,
    ONS_FUSED_PARAMETERS = 4,
};

typedef struct ons_fused_arguments {
    int64_t elements;                                  /* of every output */
    int64_t rank;                                      /* after merging neighbouring dimensions; at least 1 */
    int64_t dims[ONS_FUSED_RANK];                      /* innermost first */
    int64_t strides[ONS_FUSED_INPUTS][ONS_FUSED_RANK]; /* in elements; 0 where an input repeats */
    float parameters[ONS_FUSED_JOINS][ONS_FUSED_PARAMETERS];
    const void *inputs[ONS_FUSED_INPUTS];
    void *outputs[ONS_FUSED_OUTPUTS]; /* NULL where nobody reads it */
} ons_fused_arguments;

#endif
