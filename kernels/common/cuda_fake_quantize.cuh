/* FakeQuantize and its gradient on CUDA: see fake_quantize.h. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_FAKE_QUANTIZE_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_FAKE_QUANTIZE_CUH

#include "kernels/common/cuda_each.cuh"
extern "C" {
#include "kernels/common/fake_quantize.h"
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
