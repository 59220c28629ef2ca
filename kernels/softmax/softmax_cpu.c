/* Softmax on the CPU. */
#include "kernels/softmax/softmax_axis.h"

static void softmax_run(const ons_launch *launch) {
    ons_each_row(launch->state, launch->inputs[0], launch->outputs[0], ons_row_softmax, ons_columns_softmax);
}

ONS_KERNELS(cpu, softmax, ONS_KERNEL(ons_softmax_prepare, softmax_run))
