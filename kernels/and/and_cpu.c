/* And on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_LOGIC_KERNEL(and, (a & b) != 0)

ONS_KERNELS(cpu, and, ONS_KERNEL(and_prepare, ons_broadcast_run))
