#include "kernels/common/cuda_elementwise.cuh"

namespace {

struct negation : ons::with_parameters {
    __device__ int64_t operator()(int64_t x) const { return x == 0; }
};

} // namespace

extern "C" void ons_cuda_not(const ons_launch *launch) {
    ons::run_1<uint8_t, uint8_t>(launch, ons::formula<negation>(launch));
}
