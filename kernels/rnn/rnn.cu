#include "kernels/recurrent/cuda_recurrent.cuh"

extern "C" void ons_cuda_run_rnn(const ons_launch *launch) { ons::run_recurrent(launch); }
