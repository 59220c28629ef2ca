#include "kernels/common/cuda_scatter_lines.cuh"

extern "C" void ons_cuda_scatter_elements(const ons_launch *launch) { ons::scatter_lines(launch); }
