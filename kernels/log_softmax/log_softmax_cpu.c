/* LogSoftmax on the CPU. */
#include "kernels/softmax/softmax_axis.h"

static void log_softmax_run(const ons_launch *launch) {
    ons_each_row(launch->state, launch->inputs[0], launch->outputs[0], ons_row_log_softmax, ons_columns_log_softmax);
}

ONS_KERNELS(cpu, log_softmax, ONS_KERNEL(ons_softmax_prepare, log_softmax_run))
