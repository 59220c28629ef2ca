#include "kernels/cast/cuda_conversion.cuh"

namespace {
template <class Out> using cast_formula = ons::cast_formula<Out>;
}
ONS_CUDA_TYPED(cast)

#ifdef ONS_CUDA_OWN_KERNELS
#include "kernels/cast/cuda_cast_tensors.cuh"

extern "C" void ons_cuda_multi_tensor_cast(const ons_launch *launches, uint32_t count) {
    ons::cast_many(launches, count);
}

/* Both operators: the other has but one more input. */
extern "C" void ons_cuda_run_cast(const ons_launch *launch) { ons::cast(launch); }
extern "C" void ons_cuda_run_cast_like(const ons_launch *launch) { ons::cast(launch); }
#endif

ONS_KERNELS(cuda, cast, ONS_MULTI_TENSOR_KERNEL(ons_cuda_cast_prepare, ons_cuda_run_cast, ons_cuda_multi_tensor_cast))
