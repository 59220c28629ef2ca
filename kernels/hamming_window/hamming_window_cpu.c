/* HammingWindow on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, hamming_window, ONS_REFERENCE_KERNEL)
