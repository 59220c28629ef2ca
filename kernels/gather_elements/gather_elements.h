/* GatherElements's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_H
#define ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_H

#include "kernels/gather_scatter/lines.h"

typedef struct ons_gather_elements {
    ons_line_map map;
    size_t size;
} ons_gather_elements;

#endif
