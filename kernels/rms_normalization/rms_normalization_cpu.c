/* RMSNormalization on the CPU. */
#include "kernels/normalization/rms_norm.h"

ONS_KERNELS(cpu, rms_normalization, ONS_KERNEL(ons_rms_norm_prepare, ons_rms_norm_run))
