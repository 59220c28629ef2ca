/* ConvTranspose: what its files share. */
#ifndef ONSTAGE_KERNELS_CONV_TRANSPOSE_CONV_TRANSPOSE_H
#define ONSTAGE_KERNELS_CONV_TRANSPOSE_CONV_TRANSPOSE_H

#include "kernels/convolution/convolution.h"

ons_status *ons_conv_transpose_resolve(const ons_operands *o, ons_convolution *c);

/* Takes away the end, as far as a convolution's padding cannot say it; whether there is any. */
bool ons_conv_transpose_crop(ons_convolution *c);

#endif
