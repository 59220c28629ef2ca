#include "kernels/recurrent/cuda_recurrent.cuh"

extern "C" void ons_cuda_recurrent_run(const ons_launch *launch) { ons::run_recurrent(launch); }
