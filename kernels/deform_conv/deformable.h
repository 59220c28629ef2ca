/* What DeformConv and its gradient share: a convolution of pictures whose every tap reads at a place of its own, the
 * offset away from where it would lie, by bilinear interpolation with zeros around the picture. Both declare the
 * window's attributes first, then group and offset_group.
 */
#ifndef ONSTAGE_KERNELS_DEFORM_CONV_DEFORMABLE_H
#define ONSTAGE_KERNELS_DEFORM_CONV_DEFORMABLE_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/common/layout/window.h"

enum { ONS_DEFORMABLE_GROUP = ONS_WINDOW_ATTRIBUTE_COUNT, ONS_DEFORMABLE_OFFSET_GROUP };
#define ONS_DEFORMABLE_ATTRIBUTES                                                                                      \
    ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1), ONS_INT_ATTRIBUTE("offset_group", 1)

/* Channels share offsets in groups, and weights in groups of another size. */
typedef struct ons_deformable {
    ons_window window;
    ons_type y;
    int64_t batch, channels, outputs, groups, offset_groups;
    int64_t taps, positions, pixels; /* of the kernel, of y, of x */
    bool has_mask;
} ons_deformable;

/* mask->dtype ONS_NO_DTYPE: there is none. */
ons_status *ons_deformable_resolve(const ons_operands *o, const ons_type *x, const ons_type *w, const ons_type *offset,
                                   const ons_type *mask, ons_deformable *d);

/* 2 × outputs × what goes into each. */
double ons_deformable_flops(const ons_deformable *d);

/* The four pixels around a place: weight 0 (and pixel 0) where one lies outside. The slopes are the weights'
 * derivatives by the place's row and column. */
typedef struct ons_corners {
    int32_t pixels[4];
    float weights[4], row_slopes[4], column_slopes[4];
} ons_corners;
typedef struct ons_exact_corners {
    int64_t pixels[4];
    double weights[4], row_slopes[4], column_slopes[4];
} ons_exact_corners;

/* Of tap `tap` at output position `at`, `row` and `column` being its offsets. */
ONS_HOST_DEVICE static inline void ons_deformable_corners(const ons_deformable *d, int64_t tap, int64_t at, double row,
                                                          double column, ons_exact_corners *c) {
    const ons_window *w = &d->window;
    int64_t first_row = at / w->output[2] * w->stride[1] - w->begin[1] + tap / w->kernel[2] * w->dilation[1];
    int64_t first_column = at % w->output[2] * w->stride[2] - w->begin[2] + tap % w->kernel[2] * w->dilation[2];
    row += (double)first_row;
    column += (double)first_column;
    for (int i = 0; i < 4; ++i) {
        c->pixels[i] = 0;
        c->weights[i] = c->row_slopes[i] = c->column_slopes[i] = 0;
    }
    if (!(row > -1 && row < (double)w->input[1] && column > -1 && column < (double)w->input[2])) return;
    int64_t top = (int64_t)floor(row), left = (int64_t)floor(column);
    double below = row - (double)top, right = column - (double)left;
    for (int i = 0; i < 4; ++i) {
        int64_t y = top + i / 2, x = left + i % 2;
        if (y < 0 || y >= w->input[1] || x < 0 || x >= w->input[2]) continue;
        bool is_right = i % 2 == 1, is_below = i / 2 == 1;
        double across = is_right ? right : 1 - right, down = is_below ? below : 1 - below;
        c->pixels[i] = y * w->input[2] + x;
        c->weights[i] = down * across;
        c->row_slopes[i] = is_below ? across : -across;
        c->column_slopes[i] = is_right ? down : -down;
    }
}

/* All corners of a sample: [offset group][tap][position]. */
int64_t ons_deformable_table_bytes(const ons_deformable *d);
/* What the taps read of a sample. Both are rounded up to whole lines of 64 bytes. */
int64_t ons_deformable_columns_bytes(const ons_deformable *d);
void ons_deformable_fill_table(const ons_deformable *d, const float *offsets, ons_corners *table);

/* What the taps read of a sample, times the mask (may be NULL): columns[channel][tap][position]. */
void ons_deformable_gather(const ons_deformable *d, const ons_corners *table, const float *x, const float *mask,
                           float *columns);

/* ---- places of the offset and mask of a tap, in the words or floats of a sample */
ONS_HOST_DEVICE static inline int64_t ons_deformable_offset_at(const ons_deformable *d, int64_t group, int64_t tap,
                                                               int64_t at) {
    return (group * d->taps + tap) * 2 * d->positions + at; /* the column's comes `positions` behind the row's */
}
ONS_HOST_DEVICE static inline int64_t ons_deformable_mask_at(const ons_deformable *d, int64_t group, int64_t tap,
                                                             int64_t at) {
    return (group * d->taps + tap) * d->positions + at;
}

#endif
