/* Blocks of an image laid out as columns (N, C × taps, blocks), and back: Col2Im and its gradient. */
#ifndef ONSTAGE_KERNELS_COL2IM_UNFOLD_H
#define ONSTAGE_KERNELS_COL2IM_UNFOLD_H

#include "kernels/common/operator/kernel.h"

enum { ONS_UNFOLD_DILATIONS, ONS_UNFOLD_PADS, ONS_UNFOLD_STRIDES };
#define ONS_UNFOLD_ATTRIBUTES                                                                                          \
    ONS_OPTIONAL_ATTRIBUTE("dilations", ONS_ATTRIBUTE_INTS), ONS_OPTIONAL_ATTRIBUTE("pads", ONS_ATTRIBUTE_INTS),       \
        ONS_OPTIONAL_ATTRIBUTE("strides", ONS_ATTRIBUTE_INTS)

enum { ONS_UNFOLD_DIMS = ONS_RANK_MAX - 2 };

typedef struct ons_unfold {
    uint32_t dims;
    int64_t image[ONS_UNFOLD_DIMS], block[ONS_UNFOLD_DIMS], stride[ONS_UNFOLD_DIMS], dilation[ONS_UNFOLD_DIMS],
        begin[ONS_UNFOLD_DIMS], blocks[ONS_UNFOLD_DIMS];
    int64_t batch, channels;
    int64_t pixels, taps, positions; /* of a plane: pixels of the image, elements of a block, blocks */
} ons_unfold;

/* From the attributes and the constant inputs 1 (image) and 2 (block), for columns or an image of that type; the other
 * one's type is the result. */
ons_status *ons_unfold_of_columns(const ons_operands *o, const ons_type *columns, ons_unfold *u, ons_type *image);
ons_status *ons_unfold_of_image(const ons_operands *o, const ons_type *image, ons_unfold *u, ons_type *columns);

/* Pixel of a plane that element `tap` of a block shows; -1: padding. */
int64_t ons_unfold_pixel(const ons_unfold *u, int64_t tap, int64_t position);

/* The blocks of one row (a run along the last dim) whose element `tap` lies in the image: blocks [first, end) show
 * pixels start + i × the last stride. An empty range where the row lies in the padding. */
typedef struct ons_unfold_run {
    int64_t first, end, start;
} ons_unfold_run;
ons_unfold_run ons_unfold_find_run(const ons_unfold *u, int64_t tap, int64_t row);

/* Prepared for float32, with an ons_unfold as state. */
ons_status *ons_col2im_prepare(ons_prepare *p);
ons_status *ons_col2im_gradient_prepare(ons_prepare *p);

#endif
