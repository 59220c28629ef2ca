/* bfloat16 of the emulated GPU: see cuda_runtime.h. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_BF16_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_BF16_H

extern "C" {
#include "graph/type.h"
}

struct __nv_bfloat16 {
    uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 x) { return ons_bfloat16_to_float(x.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16{ons_float_to_bfloat16(x)}; }

#endif
