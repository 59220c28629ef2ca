/* GatherElementsGradient's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_GRADIENT_H
#define ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_GRADIENT_H

#include "kernels/gather_scatter/lines.h"

typedef struct ons_gather_elements_gradient {
    ons_line_map map;
    int64_t bytes;
} ons_gather_elements_gradient;

#endif
