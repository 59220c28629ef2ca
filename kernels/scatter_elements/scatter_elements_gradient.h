/* ScatterElementsGradient's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_GRADIENT_H
#define ONSTAGE_KERNELS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_GRADIENT_H

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/scatter.h"

typedef struct ons_scatter_elements_gradient {
    ons_line_map map;
    ons_scatter_mode mode;
    int64_t elements;
} ons_scatter_elements_gradient;

#endif
