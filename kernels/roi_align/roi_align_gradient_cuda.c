/* RoiAlignGradient on CUDA: what the host works out. */
#include "kernels/roi_align/roi_align_gradient.h"

extern ons_run_function ons_cuda_run_roi_align_gradient;

ONS_KERNELS(cuda, roi_align_gradient, ONS_KERNEL(ons_roi_align_gradient_prepare, ons_cuda_run_roi_align_gradient))
