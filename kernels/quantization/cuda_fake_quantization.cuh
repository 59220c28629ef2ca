/* FakeQuantize and its gradient on CUDA: see fake_quantization.h. */
#ifndef ONSTAGE_KERNELS_QUANTIZATION_CUDA_FAKE_QUANTIZATION_CUH
#define ONSTAGE_KERNELS_QUANTIZATION_CUDA_FAKE_QUANTIZATION_CUH

#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/quantization/fake_quantization.h"
}

namespace ons {

/* Zero points in memory: bytes but for those of 16 bits. */
struct zero_points {
    const void *at; /* nullptr: all 0 */
    ons_dtype dtype;
    __device__ float operator[](int64_t k) const {
        if (at == nullptr) return 0;
        switch (dtype) {
        case ONS_UINT8: return ((const uint8_t *)at)[k];
        case ONS_INT16: return ((const int16_t *)at)[k];
        case ONS_UINT16: return ((const uint16_t *)at)[k];
        default: return ((const int8_t *)at)[k]; /* the small ones too */
        }
    }
};

} // namespace ons

#endif
