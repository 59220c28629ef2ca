#include "kernels/common/cuda_optimizer.cuh"

ONS_CUDA_UPDATE(adamw, (ons::update<ons::adam_rule<true>, 2>))
