/* Cast on the CPU. */
#include "kernels/cast/conversion.h"

ONS_KERNELS(cpu, cast, ONS_KERNEL(ons_cast_prepare, ons_cast_run))
