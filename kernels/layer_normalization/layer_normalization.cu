#include "kernels/normalization/cuda_norm.cuh"

namespace {

template <class T> void run_layer_normalization(const ons_launch *l) {
    const void *bias = ((const ons_cuda_norm *)l->state)->has_bias ? l->inputs[2] : nullptr;
    ons::run_norm<T>(l, true, bias, (float *)l->outputs[1], (float *)l->outputs[2]);
}

} // namespace

extern "C" void ons_cuda_run_layer_normalization(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_norm *)launch->state)->dtype, run_layer_normalization, launch);
}
