/* Sampling a tensor (N, C, spatial…) at given places: GridSample and its gradient.
 *
 * A place has a coordinate for each spatial axis, from -1 to 1, the last axis first. Along an axis it sees one, two or
 * four elements; over all axes, every combination of them.
 */
#ifndef ONSTAGE_KERNELS_GRID_SAMPLE_GRID_H
#define ONSTAGE_KERNELS_GRID_SAMPLE_GRID_H

#include "kernels/common/operator/kernel.h"

enum { ONS_GRID_ALIGN_CORNERS, ONS_GRID_MODE, ONS_GRID_PADDING };
#define ONS_GRID_ATTRIBUTES                                                                                            \
    ONS_INT_ATTRIBUTE("align_corners", 0), ONS_STRING_ATTRIBUTE("mode", "linear"),                                     \
        ONS_STRING_ATTRIBUTE("padding_mode", "zeros")

enum { ONS_GRID_DIMS = 3, ONS_GRID_TAPS = 4, ONS_GRID_COMBINATIONS = 64, ONS_GRID_BLOCK = 64 };

typedef enum ons_grid_mode { ONS_GRID_LINEAR, ONS_GRID_NEAREST, ONS_GRID_CUBIC } ons_grid_mode;
typedef enum ons_grid_padding { ONS_GRID_ZEROS, ONS_GRID_BORDER, ONS_GRID_REFLECTION } ons_grid_padding;

typedef struct ons_grid {
    ons_grid_mode mode;
    ons_grid_padding padding;
    bool align_corners;
    int32_t dims;         /* spatial ones */
    int32_t combinations; /* elements that a place sees */
    int64_t lengths[ONS_GRID_DIMS];
    int64_t batch, channels;
    int64_t inputs, outputs; /* positions of a plane */
    ons_shape result;
} ons_grid;

ons_status *ons_grid_of(const ons_operands *o, const ons_type *x, const ons_type *grid, ons_grid *result);

/* The elements that a place sees: numbers in a plane, -1 outside where zeros are; their weights; and the derivatives of
 * the weights by each coordinate, in the grid's order. ons_grid_look (grid_look.h) finds them. */
typedef struct ons_grid_view {
    int64_t element[ONS_GRID_COMBINATIONS];
    double weight[ONS_GRID_COMBINATIONS];
    double slope[ONS_GRID_DIMS][ONS_GRID_COMBINATIONS];
} ons_grid_view;

/* For kernels: the views of up to ONS_GRID_BLOCK places, by combination, then by place. What lies outside is element 0
 * with weight 0. `slopes` only where a caller sets it. */
typedef struct ons_grid_block {
    int32_t element[ONS_GRID_COMBINATIONS][ONS_GRID_BLOCK];
    float weight[ONS_GRID_COMBINATIONS][ONS_GRID_BLOCK];
    float slope[ONS_GRID_DIMS][ONS_GRID_COMBINATIONS][ONS_GRID_BLOCK];
    float sum[ONS_GRID_COMBINATIONS][ONS_GRID_BLOCK]; /* free for the caller */
} ons_grid_block;
void ons_grid_look_at_block(const ons_grid *grid, const float *places, int64_t count, bool slopes,
                            ons_grid_block *block);

/* State of a kernel: the grid, and a block for each thread in scratch. Refuses what is not float32. */
typedef struct ons_grid_state {
    ons_grid grid;
    int threads;
} ons_grid_state;
ons_status *ons_grid_prepare(ons_prepare *p, const ons_grid *grid);

/* On CUDA: the nearest element is moved, whatever its type. */
typedef struct ons_cuda_grid {
    ons_grid grid;
    size_t size; /* of an element of x */
} ons_cuda_grid;

#endif
