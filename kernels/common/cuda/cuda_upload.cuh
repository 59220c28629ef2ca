/* Small tables from the host to the device as arguments of kernels: nothing of the host's memory is read later, so that
 * a recorded graph of launches can be repeated. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_UPLOAD_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_UPLOAD_CUH

#include "kernels/common/cuda/cuda_each.cuh"

namespace ons {

/* About as much as a kernel's arguments hold. */
constexpr int ARGUMENT_BYTES = 3584;
struct argument_bytes {
    uint8_t at[ARGUMENT_BYTES];
};

[[maybe_unused]] static __global__ void write_bytes(argument_bytes bytes, int count, uint8_t *to) {
    for (int i = (int)threadIdx.x; i < count; i += EACH_THREADS) to[i] = bytes.at[i];
}

inline void upload(const ons_launch *l, void *to, const void *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += ARGUMENT_BYTES) {
        argument_bytes piece;
        int count = (int)(bytes - at < ARGUMENT_BYTES ? bytes - at : ARGUMENT_BYTES);
        memcpy(piece.at, (const char *)from + at, (size_t)count);
        launch(l, write_bytes, 1, EACH_THREADS, piece, count, (uint8_t *)to + at);
    }
}

} // namespace ons

#endif
