/* RoiAlign on CUDA: what the host works out. */
#include "kernels/roi_align/roi_align.h"

extern ons_run_function ons_cuda_run_roi_align;

ONS_KERNELS(cuda, roi_align, ONS_KERNEL(ons_roi_align_prepare, ons_cuda_run_roi_align))
