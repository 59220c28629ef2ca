/* In front of a small function that CUDA's kernels call too, so that it is written once: nothing for a C compiler. */
#ifndef ONSTAGE_BASE_HOST_DEVICE_H
#define ONSTAGE_BASE_HOST_DEVICE_H

#ifdef __CUDACC__
#define ONS_HOST_DEVICE __host__ __device__
#else
#define ONS_HOST_DEVICE
#endif

#endif
