/* Resize on the CPU. */
#include "kernels/resampling/resample.h"

ONS_KERNELS(cpu, resize, ONS_KERNEL(ons_resize_prepare, ons_resampling_run))
