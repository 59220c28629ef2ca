/* RoiAlign on CUDA: what the host works out. */
#include "kernels/roi_align/roi_align.h"

ONS_CUDA_KERNEL(roi_align, ons_roi_align_prepare)
