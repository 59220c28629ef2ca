/* ConvWeightGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_CONV_CONV_WEIGHT_GRADIENT_H
#define ONSTAGE_KERNELS_CONV_CONV_WEIGHT_GRADIENT_H

#include "kernels/convolution/convolution.h"

ons_status *ons_conv_weight_gradient_resolve(const ons_operands *o, ons_convolution *c);

#endif
