#include "kernels/common/cuda_optimizer.cuh"

extern "C" void ons_cuda_adamw(const ons_launch *launch) { ons::update<ons::adam_rule<true>, 2>(launch); }
