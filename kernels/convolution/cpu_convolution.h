/* Convolutions on the CPU, in one of their ways (choices.inc): what they were prepared with. */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_CPU_CONVOLUTION_H
#define ONSTAGE_KERNELS_CONVOLUTION_CPU_CONVOLUTION_H

#include "kernels/convolution/tap_products.h"
#include "kernels/convolution/winograd.h"

typedef struct ons_cpu_convolution {
    ons_onednn primitive; /* first: ons_onednn_destroy is the destroy function; none where another way is taken */
    ons_way way;
    union {
        ons_winograd winograd;
        ons_tap_products products;
    };
} ons_cpu_convolution;

/* Prepares for the layouts that the types have; what is empty is nothing to do. */
ons_status *ons_cpu_convolution_prepare(ons_prepare *p, const ons_convolution *c, ons_cpu_convolution *s);

/* Arguments by kind, as for ons_convolution_prepare; a bias that is not there is NULL. False: there is nothing to do,
 * and the caller fills the result. */
bool ons_cpu_convolution_run(const ons_cpu_convolution *s, const void *const arguments[4], const ons_launch *launch);

#endif
