/* ScatterElements on the CPU. */
#include "kernels/gather_scatter/scatter_lines.h"

ONS_KERNELS(cpu, scatter_elements, ONS_KERNEL(ons_scatter_lines_prepare, ons_scatter_lines_run))
