/* Or on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_LOGIC_KERNEL(or, (a | b) != 0)

ONS_KERNELS(cpu, or, ONS_KERNEL(or_prepare, ons_broadcast_run))
