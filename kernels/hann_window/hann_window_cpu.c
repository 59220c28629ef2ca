/* HannWindow on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, hann_window, ONS_REFERENCE_KERNEL)
