#include "kernels/common/cuda_optimizer.cuh"

ONS_CUDA_UPDATE(adam, (ons::update<ons::adam_rule<false>, 2>))
