#include "kernels/common/layout/cuda_strided.cuh"

extern "C" void ons_cuda_run_reorder(const ons_launch *launch) { ons::copy_whole(launch); }
