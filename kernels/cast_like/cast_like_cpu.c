/* CastLike on the CPU. */
#include "kernels/common/cast.h"

ONS_KERNELS(cpu, cast_like, ONS_KERNEL(ons_cast_prepare, ons_cast_run))
