#include "kernels/normalization/cuda_group_norm.cuh"

extern "C" void ons_cuda_run_instance_normalization(const ons_launch *launch) { ons::group_norm(launch); }
