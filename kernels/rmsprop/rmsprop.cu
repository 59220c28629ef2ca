#include "kernels/optimizers/cuda_optimizer.cuh"

namespace {

/* Attributes in the order of rmsprop.c. */
template <bool HAS_BUFFER> struct rmsprop_rule {
    float rate, alpha, rest, epsilon, decay, momentum;

    __device__ void prepare(const ons_optimizer &o, const ons_step &step) {
        rate = ons_optimizer_rate(&o, &step);
        alpha = (float)o.numbers[0];
        rest = (float)(1 - o.numbers[0]);
        epsilon = (float)o.numbers[1];
        decay = (float)o.numbers[2];
        momentum = (float)o.numbers[3];
    }

    __device__ float operator()(float p, float g, float &square, float &buffer) const {
        g += decay * p;
        square = square * alpha + g * g * rest;
        float direction = g / (sqrtf(square) + epsilon);
        if (HAS_BUFFER) direction = buffer = buffer * momentum + direction;
        return p - rate * direction;
    }
};

void update_rmsprop(const ons_launch *launches, uint32_t count) {
    ons::update<rmsprop_rule<false>, 1>(launches, count);
    ons::update<rmsprop_rule<true>, 2>(launches, count);
}

} // namespace

ONS_CUDA_UPDATE(rmsprop, update_rmsprop)

ONS_KERNELS(cuda, rmsprop,
            ONS_MULTI_TENSOR_KERNEL(ons_cuda_optimizer_prepare, ons_cuda_run_rmsprop, ons_cuda_multi_tensor_rmsprop))
