#include "kernels/optimizers/cuda_optimizer.cuh"

namespace {

/* Attributes in the order of adagrad.c. */
struct adagrad_rule {
    float rate, epsilon, decay;

    __device__ void prepare(const ons_optimizer &o, const ons_step &step) {
        rate = ons_optimizer_rate(&o, &step);
        epsilon = (float)o.numbers[0];
        decay = (float)o.numbers[1];
    }

    __device__ float operator()(float p, float g, float &sum, float &) const {
        g += decay * p;
        sum += g * g;
        return p - rate * g / (sqrtf(sum) + epsilon);
    }
};

} // namespace

ONS_CUDA_UPDATE(adagrad, (ons::update<adagrad_rule, 1>))

ONS_KERNELS(cuda, adagrad,
            ONS_MULTI_TENSOR_KERNEL(ons_cuda_optimizer_prepare, ons_cuda_run_adagrad, ons_cuda_multi_tensor_adagrad))
