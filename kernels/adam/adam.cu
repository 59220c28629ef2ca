#include "kernels/optimizers/cuda_optimizer.cuh"

ONS_CUDA_UPDATE(adam, (ons::update<ons::adam_rule<false>, 2>))

ONS_KERNELS(cuda, adam,
            ONS_MULTI_TENSOR_KERNEL(ons_cuda_optimizer_prepare, ons_cuda_run_adam, ons_cuda_multi_tensor_adam))
