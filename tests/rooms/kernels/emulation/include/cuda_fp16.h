/* Half precision of the emulated GPU: see cuda_runtime.h. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_FP16_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_FP16_H

extern "C" {
#include "graph/type.h"
}

struct __half {
    uint16_t bits;
};
inline float __half2float(__half x) { return ons_half_to_float(x.bits); }
inline __half __float2half_rn(float x) { return __half{ons_float_to_half(x)}; }

#endif
