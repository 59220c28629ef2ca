/* Multinomial on the CPU. */
#include "kernels/common/operator/stand_in.h"
#include "kernels/multinomial/multinomial_node.h"

ONS_KERNELS(cpu, multinomial, ONS_REFERENCE_KERNEL)
