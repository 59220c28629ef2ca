#include "kernels/optimizers/cuda_optimizer.cuh"

ONS_CUDA_UPDATE(adamw, (ons::update<ons::adam_rule<true>, 2>))

ONS_KERNELS(cuda, adamw,
            ONS_MULTI_TENSOR_KERNEL(ons_cuda_optimizer_prepare, ons_cuda_run_adamw, ons_cuda_multi_tensor_adamw))
