/* Results that are known when an operator is prepared: see cuda_constant.h. */
#ifndef ONSTAGE_KERNELS_SIGNAL_CUDA_CONSTANT_CUH
#define ONSTAGE_KERNELS_SIGNAL_CUDA_CONSTANT_CUH

#include "kernels/common/cuda/cuda_upload.cuh"
extern "C" {
#include "kernels/signal/cuda_constant.h"
}

namespace ons {

inline void write_constant(const ons_launch *l) {
    const ons_cuda_known *s = (const ons_cuda_known *)l->state;
    upload(l, l->outputs[0], s->data, s->bytes);
}

} // namespace ons

#endif
