#include "kernels/optimizers/cuda_optimizer.cuh"

namespace {

/* Attributes in the order of sgd.c. The step is straight × g + along × b: (nesterov) 1, momentum or (plain) 0, 1. */
template <bool HAS_BUFFER> struct sgd_rule {
    float rate, decay, momentum, straight, along;

    __device__ void prepare(const ons_optimizer &o, const ons_step &step) {
        rate = ons_optimizer_rate(&o, &step);
        momentum = (float)o.numbers[0];
        decay = (float)o.numbers[1];
        straight = o.numbers[2] != 0 ? 1 : 0;
        along = o.numbers[2] != 0 ? momentum : 1;
    }

    __device__ float operator()(float p, float g, float &buffer, float &) const {
        g += decay * p;
        if (!HAS_BUFFER) return p - rate * g;
        buffer = buffer * momentum + g;
        return p - rate * (straight * g + along * buffer);
    }
};

void update_sgd(const ons_launch *launches, uint32_t count) {
    ons::update<sgd_rule<false>, 0>(launches, count);
    ons::update<sgd_rule<true>, 1>(launches, count);
}

} // namespace

ONS_CUDA_UPDATE(sgd, update_sgd)

ONS_KERNELS(cuda, sgd, ONS_MULTI_TENSOR_KERNEL(ons_cuda_optimizer_prepare, ons_cuda_run_sgd, ons_cuda_multi_tensor_sgd))
