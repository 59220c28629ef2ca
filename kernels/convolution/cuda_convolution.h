/* Convolutions on CUDA, by cuDNN or by kernels of our own: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_CUDA_CONVOLUTION_H
#define ONSTAGE_KERNELS_CONVOLUTION_CUDA_CONVOLUTION_H

#include "kernels/common/cudnn/cudnn_graph.h"

enum { ONS_CUDA_CONVOLUTION_DIMS = 3, ONS_CUDA_PADDED_CHANNELS = 8 };

/* x (batch, groups × channels, input…), w (groups × outputs, channels, kernel…), y (batch, groups × outputs, output…).
 * Seen as one product for each group; positions are those of y where nothing is said:
 *
 *     forwards           y  = w  · columns of x     outputs  × (batch · positions),          over channels · taps
 *     input gradient     dx = wᵀ · columns of dy    channels × (batch · positions of x),     over outputs · taps
 *     weight gradient    dw = dy · columnsᵀ of x    outputs  × (channels · taps),            over batch · positions
 */
/* Distances in elements, in ONNX's order or with channels last: of x and y between samples, channels and positions, of
 * w between outputs, channels and taps. */
typedef struct ons_cuda_distances {
    int64_t outer, channel, inner;
} ons_cuda_distances;

typedef struct ons_cuda_convolution {
    ons_dtype dtype;
    int kind; /* ons_convolution_kind */
    int batch, groups, channels, outputs;
    int input[ONS_CUDA_CONVOLUTION_DIMS], output[ONS_CUDA_CONVOLUTION_DIMS], kernel[ONS_CUDA_CONVOLUTION_DIMS],
        stride[ONS_CUDA_CONVOLUTION_DIMS], dilation[ONS_CUDA_CONVOLUTION_DIMS], begin[ONS_CUDA_CONVOLUTION_DIMS];
    int inputs, positions, taps; /* products over all dims: of x, of y, of the kernel */
    ons_cuda_distances x, w, y;
    int rows, columns, depth; /* of a group's product */
    int parts;                /* into which the depth is cut; scratch holds a float for each result and part */
    bool bias;                /* forwards: added; of a weight gradient: asked for */
    ons_cudnn_plan *plan;     /* cuDNN's, without the bias; NULL: our kernels run */
    /* Few channels, as pictures have, are no fit for matrix units: the library gets x and w in the scratch, with
     * ONS_CUDA_PADDED_CHANNELS of which the rest are 0. */
    bool padded;
    int64_t padded_x_at, padded_w_at;
} ons_cuda_convolution;

struct ons_convolution;
/* The state is an ons_cuda_convolution. */
ons_status *ons_cuda_convolution_prepare(ons_prepare *p, const struct ons_convolution *c);

/* By cuDNN, of a plan that is there, and of operands as they are, or as the caller has padded them; one of
 * the three is what is made. */
void ons_cuda_convolution_run(const ons_cuda_convolution *s, const ons_launch *launch, const void *x, const void *w,
                              const void *y);

#endif
