/* Work along one axis: how a tensor divides into rows, softmax and its relatives over a row, and sums over many rows in
 * an order that does not depend on the number of threads. */
#ifndef ONSTAGE_KERNELS_COMMON_ROWS_ROWS_H
#define ONSTAGE_KERNELS_COMMON_ROWS_ROWS_H

#include "kernels/common/operator/kernel.h"

/* A tensor as outer × length × inner, where `length` is the axis that an operator works along. */
typedef struct ons_axis_view {
    int64_t outer, length, inner;
} ons_axis_view;

/* The view along `axis` (negative: from the end); with `flatten`, along `axis` and all after it as one. Rank 0 is a row
 * of one element. Fails with the node's name where there is no such axis. */
ons_status *ons_axis_view_of(const ons_operands *o, const ons_shape *shape, int64_t axis, bool flatten,
                             ons_axis_view *view);

/* ---- one contiguous row of n elements; y may be x. Rows of -inf alone give NaN, as in PyTorch. */
void ons_row_softmax(const float *x, float *y, int64_t n);
void ons_row_log_softmax(const float *x, float *y, int64_t n);
/* *log_sum = log Σ e^(x - *max); apart, as their sum loses digits */
void ons_row_max_and_log_sum(const float *x, int64_t n, float *max, float *log_sum);
/* Σ w (max - x); weights NULL: 1 each */
float ons_row_gaps(const float *x, float max, const float *weights, int64_t n);
/* y = scale · e^(x - shift) */
void ons_row_scaled_exp(const float *x, float shift, float scale, float *y, int64_t n);
/* y = scale · e^(x - shift), with a shift of its own for every element */
void ons_shifted_exp(const float *x, const float *shifts, float scale, float *y, int64_t n);
/* dx = y (dy - Σ dy y) */
void ons_row_softmax_gradient(const float *y, const float *dy, float *dx, int64_t n);
/* dx = dy - e^y Σ dy */
void ons_row_log_softmax_gradient(const float *y, const float *dy, float *dx, int64_t n);

/* ---- the same for `width` (≤ ONS_COLUMNS) neighbouring columns of `length` elements that lie `stride` apart */
enum { ONS_COLUMNS = 64 };
void ons_columns_softmax(const float *x, float *y, int64_t length, int64_t stride, int width);
void ons_columns_log_softmax(const float *x, float *y, int64_t length, int64_t stride, int width);
void ons_columns_max_and_log_sum(const float *x, int64_t length, int64_t stride, int width, float *max, float *log_sum);
void ons_columns_gaps(const float *x, const float *max, const float *weights, int64_t length, int64_t stride, int width,
                      float *gaps);
void ons_columns_softmax_gradient(const float *y, const float *dy, float *dx, int64_t length, int64_t stride,
                                  int width);
void ons_columns_log_softmax_gradient(const float *y, const float *dy, float *dx, int64_t length, int64_t stride,
                                      int width);

/* A view with inner > 1 in blocks of neighbouring columns. */
typedef struct ons_column_block {
    int64_t offset; /* of its first element in the tensor */
    int64_t column; /* number of its first column among outer × inner */
    int width;
} ons_column_block;

static inline int64_t ons_column_blocks(const ons_axis_view *view) {
    return view->outer * ((view->inner + ONS_COLUMNS - 1) / ONS_COLUMNS);
}

static inline ons_column_block ons_column_block_at(const ons_axis_view *view, int64_t block) {
    int64_t across = (view->inner + ONS_COLUMNS - 1) / ONS_COLUMNS;
    int64_t outer = block / across, first = block % across * ONS_COLUMNS, left = view->inner - first;
    return (ons_column_block){outer * view->length * view->inner + first, outer * view->inner + first,
                              left < ONS_COLUMNS ? (int)left : ONS_COLUMNS};
}

/* ---- all rows or columns of a view, by threads */
typedef void ons_row_function(const float *x, float *y, int64_t n);
typedef void ons_columns_function(const float *x, float *y, int64_t length, int64_t stride, int width);
void ons_each_row(const ons_axis_view *view, const float *x, float *y, ons_row_function *row,
                  ons_columns_function *columns);

typedef void ons_row_gradient_function(const float *y, const float *dy, float *dx, int64_t n);
typedef void ons_columns_gradient_function(const float *y, const float *dy, float *dx, int64_t length, int64_t stride,
                                           int width);
void ons_each_row_gradient(const ons_axis_view *view, const float *y, const float *dy, float *dx,
                           ons_row_gradient_function *row, ons_columns_gradient_function *columns);

/* ---- sums in fixed order: work is cut into parts whose number depends on its size alone; every part gives one double,
 * and these are added in order */
enum { ONS_PARTS_MAX = 64 };

/* Parts for `items` items of `size` elements each: at least 1. */
static inline int ons_parts(int64_t items, int64_t size) {
    int64_t parts = items * size / 8192;
    parts = parts > items ? items : parts;
    return parts < 1 ? 1 : parts > ONS_PARTS_MAX ? ONS_PARTS_MAX : (int)parts;
}

/* First item of a part; the part ends where the next begins. */
static inline int64_t ons_part_begin(int64_t items, int parts, int part) {
    return items / parts * part + (items % parts < part ? items % parts : part);
}

static inline double ons_sum_parts(const double *sums, int parts) {
    double total = 0;
    for (int i = 0; i < parts; ++i) total += sums[i];
    return total;
}

#endif
