/* The bins that MaxRoiPool cuts a region into, as Caffe's Fast R-CNN layer does. A region is (sample, x1, y1, x2, y2)
 * in the picture's coordinates; its corners are rounded to positions of the map.
 */
#ifndef ONSTAGE_KERNELS_MAX_ROI_POOL_ROI_WINDOW_H
#define ONSTAGE_KERNELS_MAX_ROI_POOL_ROI_WINDOW_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"

/* What a fault of a region is called. */
#define ONS_ROI_PROBLEM "a region belongs to no sample of the batch"

typedef struct ons_roi_sizes {
    int64_t batch, channels, height, width, regions, rows, columns; /* rows and columns of bins */
    double scale;
} ons_roi_sizes;

/* Positions [first, end) of a bin in one dim: empty where it lies outside. */
ONS_HOST_DEVICE static inline void ons_roi_span(double low, double high, double scale, int64_t bin, int64_t bins,
                                                int64_t size, int64_t *first, int64_t *end) {
    *first = *end = 0;
    double start = round(low * scale), length = fmax(round(high * scale) - start + 1, 1.0) / (double)bins;
    double from = floor((double)bin * length) + start, to = ceil((double)(bin + 1) * length) + start;
    if (!(from < (double)size) || !(to > 0)) return; /* not a number: empty */
    *first = from < 0 ? 0 : (int64_t)from;
    *end = to > (double)size ? size : (int64_t)to;
}

#endif
