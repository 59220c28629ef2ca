/* SoftmaxGradient on the CPU. */
#include "kernels/softmax/softmax_axis.h"

static void softmax_gradient_run(const ons_launch *launch) {
    ons_each_row_gradient(launch->state, launch->inputs[0], launch->inputs[1], launch->outputs[0],
                          ons_row_softmax_gradient, ons_columns_softmax_gradient);
}

ONS_KERNELS(cpu, softmax_gradient, ONS_KERNEL(ons_softmax_prepare, softmax_gradient_run))
