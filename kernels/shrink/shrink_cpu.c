/* Shrink on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(shrink_float32, float, float, float,
               x<-parameters[0] ? x + parameters[1] : x> parameters[0] ? x - parameters[1] : 0)

static void shrink_run(const ons_launch *launch) {
    ons_unary_run(launch, sizeof(float), sizeof(float), shrink_float32);
}

ONS_KERNELS(cpu, shrink, ONS_KERNEL(ons_unary_prepare, shrink_run))
