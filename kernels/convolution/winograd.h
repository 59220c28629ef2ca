/* Convolutions of 3 × 3 taps and stride 1, and both of their gradients, by Winograd's minimal filtering F(2×2, 3×3)
 * (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015): a tile of 4 × 4 positions and the filter
 * are each transformed into 16 numbers a channel; for each of the 16 there is one product of matrices over the
 * channels, and what comes out is transformed into 2 × 2 results. That is 16 multiplications for what takes 36 tap by
 * tap, and additions, which rounds like the usual sum; but a number that is infinite, or nearly, spoils all results of
 * the tiles that it lies in.
 *
 * Activations lie with channels last, filters as (taps, channels, outputs): dnnl_hwio. A result depends neither on the
 * number of threads nor on how tiles are cut into blocks: its sums run over the channels, those of a filter's gradient
 * over the tiles, in order.
 */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_WINOGRAD_H
#define ONSTAGE_KERNELS_CONVOLUTION_WINOGRAD_H

#include "kernels/convolution/convolution.h"

/* An activation with channels last, as it lies in memory. */
typedef struct ons_winograd_plane {
    int64_t height, width, channels;
} ons_winograd_plane;

typedef struct ons_winograd {
    ons_convolution_kind kind;
    int threads;
    int64_t batch, channels, outputs; /* channels of x, of y */
    ons_winograd_plane from, to;      /* x and y; of an input gradient dy and dx; of a filter's gradient x and dy */
    int64_t top, left;                /* of `from`, before its first row and column */
    int64_t down, across, tiles;      /* that cover `to`, of all samples */
    int64_t blocks, block;            /* tiles are gone through block by block; the most tiles in one */
    int64_t from_row, to_row;         /* floats from one tile's channels to the next one's, transformed */
    int64_t from_apart, to_apart;     /* floats from one of the 16 to the next */
    int64_t filter_apart;
    int64_t zeros_at, filter_at, team_at, member_floats; /* in floats of the scratch; each thread has its own part */
} ons_winograd;

/* Of 3 × 3 taps, in these layouts. Books scratch. */
ons_status *ons_winograd_prepare(ons_prepare *p, const ons_convolution *c, ons_winograd *w);

/* Arguments by kind, as for ons_convolution_prepare; a bias that is not there is NULL. */
void ons_winograd_run(const ons_winograd *w, const void *const arguments[4], float *scratch);

#endif
