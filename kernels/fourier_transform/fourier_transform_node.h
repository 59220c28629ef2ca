/* The sizes of a Fourier transform, from a node, and where a line's elements lie. For C: the .cu file includes
 * fourier_transform.h. */
#ifndef ONSTAGE_KERNELS_FOURIER_TRANSFORM_FOURIER_TRANSFORM_NODE_H
#define ONSTAGE_KERNELS_FOURIER_TRANSFORM_FOURIER_TRANSFORM_NODE_H

#include "kernels/fourier_transform/fourier_transform.h"

ons_status *ons_fourier_transform_resolve(const ons_operands *o, ons_fourier_sizes *s, uint32_t *axis);

/* Place of part `part` of element `t` of a line. */
static inline int64_t place(const ons_fourier_sizes *s, int64_t line, int64_t count, int64_t parts, int64_t t,
                            int64_t part) {
    return ((line / s->inner * count + t) * s->inner + line % s->inner) * parts + part;
}

#endif
