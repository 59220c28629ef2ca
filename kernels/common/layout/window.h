/* Geometry of a sliding window: convolution and pooling.
 *
 * Operators that use it declare the same five attributes first, in this order (ONS_WINDOW_ATTRIBUTES). Sizes are always
 * kept for three spatial dims; where there are fewer, the leading ones have size 1. Input index = output × stride + tap
 * × dilation − begin.
 */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_WINDOW_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_WINDOW_H

#include "kernels/common/operator/kernel.h"

enum {
    ONS_WINDOW_AUTO_PAD,
    ONS_WINDOW_DILATIONS,
    ONS_WINDOW_KERNEL_SHAPE,
    ONS_WINDOW_PADS,
    ONS_WINDOW_STRIDES,
    ONS_WINDOW_ATTRIBUTE_COUNT,
};

#define ONS_WINDOW_ATTRIBUTES                                                                                          \
    ONS_STRING_ATTRIBUTE("auto_pad", "NOTSET"), ONS_OPTIONAL_ATTRIBUTE("dilations", ONS_ATTRIBUTE_INTS),               \
        ONS_OPTIONAL_ATTRIBUTE("kernel_shape", ONS_ATTRIBUTE_INTS),                                                    \
        ONS_OPTIONAL_ATTRIBUTE("pads", ONS_ATTRIBUTE_INTS), ONS_OPTIONAL_ATTRIBUTE("strides", ONS_ATTRIBUTE_INTS)

enum { ONS_WINDOW_DIMS = 3 };

typedef struct ons_window {
    uint32_t spatial; /* how many dims there really are, 1 to 3; they are the last ones below */
    int64_t input[ONS_WINDOW_DIMS], output[ONS_WINDOW_DIMS], kernel[ONS_WINDOW_DIMS], stride[ONS_WINDOW_DIMS],
        dilation[ONS_WINDOW_DIMS];
    int64_t begin[ONS_WINDOW_DIMS], end[ONS_WINDOW_DIMS]; /* padding, as given or as auto_pad makes it */
    int64_t
        last[ONS_WINDOW_DIMS]; /* padding behind, so that the last window fits exactly: < 0 crops, > end in ceil mode */
} ons_window;

/* From the node's attributes, the input's shape (N, C, spatial…) and, where there is one, the kernel's size (else the
 * attribute kernel_shape, which must agree with it). */
ons_status *ons_window_resolve(const ons_operands *o, const ons_shape *input, const int64_t *kernel, bool ceil_mode,
                               ons_window *w);

/* The window of a transposed convolution: of the convolution that leads back from its output (w->input) to its `input`
 * (w->output). `output_padding` and `output_shape` are the numbers of those attributes. */
ons_status *ons_window_resolve_transposed(const ons_operands *o, const ons_shape *input, const int64_t *kernel,
                                          uint32_t output_padding, uint32_t output_shape, ons_window *w);

/* (N, channels, output sizes…) */
ons_shape ons_window_output_shape(const ons_window *w, int64_t batch, int64_t channels);

/* Products over all dims. */
int64_t ons_window_inputs(const ons_window *w);
int64_t ons_window_outputs(const ons_window *w);
int64_t ons_window_taps(const ons_window *w);

/* Input position of one tap at one output position: false where it lies in the padding. */
bool ons_window_position(const ons_window *w, int64_t output, int64_t tap, int64_t *input);

/* The resolved window as settings of attributes 0 to 4, for the operator of the gradient. */
typedef struct ons_window_settings {
    int64_t dilations[ONS_WINDOW_DIMS], kernel[ONS_WINDOW_DIMS], pads[2 * ONS_WINDOW_DIMS], strides[ONS_WINDOW_DIMS];
    int64_t input[2 + ONS_WINDOW_DIMS]; /* the input's whole shape */
} ons_window_settings;
void ons_window_get_settings(const ons_window *w, const ons_shape *input, ons_window_settings *settings);
#define ONS_WINDOW_WITH(WINDOW, SETTINGS)                                                                              \
    ONS_AT_INTS(ONS_WINDOW_DILATIONS, (WINDOW)->spatial, (SETTINGS)->dilations),                                       \
        ONS_AT_INTS(ONS_WINDOW_KERNEL_SHAPE, (WINDOW)->spatial, (SETTINGS)->kernel),                                   \
        ONS_AT_INTS(ONS_WINDOW_PADS, 2 * (WINDOW)->spatial, (SETTINGS)->pads),                                         \
        ONS_AT_INTS(ONS_WINDOW_STRIDES, (WINDOW)->spatial, (SETTINGS)->strides)

/* An attribute that holds a whole shape (N, C, spatial…), of an operator of ours. */
ons_status *ons_window_shape_attribute(const ons_operands *o, uint32_t attribute, ons_shape *shape);

#endif
