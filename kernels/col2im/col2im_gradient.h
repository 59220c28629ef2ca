/* Col2ImGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_COL2IM_COL2IM_GRADIENT_H
#define ONSTAGE_KERNELS_COL2IM_COL2IM_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_col2im_gradient_prepare(ons_prepare *p);

#endif
