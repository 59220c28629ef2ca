/* RecurrentGradient on the CPU. */
#include "kernels/recurrent/recurrent_gradient.h"

#include "kernels/recurrent/recurrent.h"

static ons_status *recurrent_gradient_prepare(ons_prepare *p) {
    return ons_recurrent_gradient_prepare(p, cell_of(p->operands));
}

ONS_KERNELS(cpu, recurrent_gradient, ONS_KERNEL(recurrent_gradient_prepare, ons_recurrent_gradient_run))
