/* What one of several owners has of a list of elements: as much as any other, and at the end of the list less, or
 * nothing. Slices begin where a cache line does. */
#ifndef ONSTAGE_GRAPH_SLICE_H
#define ONSTAGE_GRAPH_SLICE_H

#include <stdint.h>

typedef struct ons_slice {
    int64_t first, count; /* elements */
} ons_slice;

enum { ONS_SLICE_ALIGNMENT = 16 }; /* elements */

/* Elements of every owner's slice but those at the end. `owners`: 1 has all, aligned. */
static inline int64_t ons_slice_width(int64_t elements, uint32_t owners) {
    int64_t each = elements / owners + (elements % owners > 0);
    return (each + ONS_SLICE_ALIGNMENT - 1) / ONS_SLICE_ALIGNMENT * ONS_SLICE_ALIGNMENT;
}

static inline ons_slice ons_slice_of(int64_t elements, uint32_t owner, uint32_t owners) {
    int64_t width = ons_slice_width(elements, owners), first = elements, count = 0;
    if (width > 0 && owner < elements / width + (elements % width > 0)) {
        first = width * owner;
        count = elements - first < width ? elements - first : width;
    }
    return (ons_slice){first, count};
}

#endif
