/* What Conv and its two gradients share. All three declare the window's attributes first and `group` after them. */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_CONVOLUTION_H
#define ONSTAGE_KERNELS_CONVOLUTION_CONVOLUTION_H

#include "kernels/common/choice/choices.h"
#include "kernels/common/layout/window.h"
#include "kernels/common/onednn/onednn.h"

enum { ONS_CONVOLUTION_GROUP = ONS_WINDOW_ATTRIBUTE_COUNT };

typedef enum ons_convolution_kind {
    ONS_CONVOLUTION_FORWARD,
    ONS_CONVOLUTION_INPUT_GRADIENT,
    ONS_CONVOLUTION_WEIGHT_GRADIENT,
} ons_convolution_kind;

/* A convolution and the types of everything that it relates, whichever of them are given and which is made. */
typedef struct ons_convolution {
    ons_convolution_kind kind;
    ons_window window;
    int64_t groups;
    ons_type x, w, y;
    bool bias;
} ons_convolution;

/* Checks x and w against each other and the attributes, and sets `y`. */
ons_status *ons_convolution_resolve(const ons_operands *o, const ons_type *x, const ons_type *w, ons_convolution *c);

/* 2 × outputs × what goes into each of them: taps in the padding do not count. */
double ons_convolution_flops(const ons_convolution *c);

/* The layouts in which it runs best: those of c->x, c->w and c->y are set. Activations lie with channels last, the
 * weight as the library asks for; everything in ONNX's order where the library has only a slow way for that. */
ons_status *ons_convolution_choose(const ons_operands *o, ons_convolution *c);

/* Which of choices.inc's ways computes it on the CPU, in the layouts that are best, and in those that its types have.
 * All but the library's want channels last and a filter as (taps, channels, outputs). */
ons_way ons_convolution_way(const ons_convolution *c);
ons_way ons_convolution_way_for_layouts(const ons_convolution *c);
ons_layout ons_convolution_filter_layout(void);

/* Prepares oneDNN's for the layouts that the types have. Arguments of the run, by kind: x, w, y, bias; dy, w, dx; x,
 * dy, dw, dbias. */
ons_status *ons_convolution_prepare(ons_prepare *p, const ons_convolution *c, ons_onednn *d);

/* In double: adds to y, dx or dw, whichever the kind makes; the caller has set it to zero or to the bias. */
void ons_convolution_reference(const ons_convolution *c, const double *x, const double *w, const double *y,
                               double *result);

#endif
