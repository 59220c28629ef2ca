/* HannWindow on the CPU. */
#include "kernels/common/stand_in.h"

ONS_KERNELS(cpu, hann_window, ONS_REFERENCE_KERNEL)
