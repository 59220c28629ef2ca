/* RoiAlignGradient on CUDA: what the host works out. */
#include "kernels/roi_align/roi_align_gradient.h"

ONS_CUDA_KERNEL(roi_align_gradient, ons_roi_align_gradient_prepare)
