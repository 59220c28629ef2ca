/* Col2Im: what its files share. */
#ifndef ONSTAGE_KERNELS_COL2IM_COL2IM_H
#define ONSTAGE_KERNELS_COL2IM_COL2IM_H

#include "kernels/backend.h"

ons_status *ons_col2im_prepare(ons_prepare *p);

#endif
