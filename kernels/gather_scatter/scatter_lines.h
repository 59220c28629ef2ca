/* ScatterElements, and Scatter as it was called before opset 11: inputs data, indices, updates; attributes axis and, of
 * ScatterElements alone, reduction. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_LINES_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_LINES_H

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/scatter.h"

enum { ONS_SCATTER_DATA, ONS_SCATTER_INDICES, ONS_SCATTER_UPDATES };
enum { ONS_SCATTER_AXIS, ONS_SCATTER_REDUCTION };

ons_status *ons_scatter_lines_infer(ons_operands *o);
void ons_scatter_lines_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs);
typedef struct ons_scatter_lines {
    ons_line_map map;
    ons_scatter_mode mode;
    size_t size;   /* of an element */
    int64_t bytes; /* of the result */
} ons_scatter_lines;
ons_status *ons_scatter_lines_prepare(ons_prepare *p); /* the state is an ons_scatter_lines */
void ons_scatter_lines_run(const ons_launch *launch);
ons_status *ons_scatter_lines_gradient(ons_gradient *g);

static inline const char *ons_scatter_lines_reduction_of(const ons_operands *o) {
    return o->op->attributes[ONS_SCATTER_REDUCTION].name == NULL ? "none"
                                                                 : ons_attribute_string(o, ONS_SCATTER_REDUCTION);
}

static inline ons_status *ons_scatter_lines_find_map(const ons_operands *o, ons_line_map *map) {
    return ons_line_map_of(o, &o->inputs[ONS_SCATTER_DATA].shape, ONS_SCATTER_INDICES,
                           ons_attribute_int(o, ONS_SCATTER_AXIS), map);
}

#endif
