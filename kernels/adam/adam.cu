#include "kernels/common/cuda_optimizer.cuh"

extern "C" void ons_cuda_adam(const ons_launch *launch) { ons::update<ons::adam_rule<false>, 2>(launch); }
