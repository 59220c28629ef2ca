/* ScatterElements, and Scatter as it was called before opset 11: inputs data, indices, updates; attributes axis and, of
 * ScatterElements alone, reduction. */
#ifndef ONSTAGE_KERNELS_COMMON_SCATTER_LINES_H
#define ONSTAGE_KERNELS_COMMON_SCATTER_LINES_H

#include "kernels/common/lines.h"
#include "kernels/common/scatter.h"

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

#endif
