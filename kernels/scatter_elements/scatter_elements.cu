#include "kernels/gather_scatter/cuda_scatter_lines.cuh"

extern "C" void ons_cuda_run_scatter_elements(const ons_launch *launch) { ons::scatter_lines(launch); }

ONS_KERNELS(cuda, scatter_elements, ONS_KERNEL(ons_scatter_lines_prepare, ons_cuda_run_scatter_elements))
