/* Kernels that take many tensors by one launch. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_MULTI_TENSOR_H
#define ONSTAGE_KERNELS_COMMON_CUDA_MULTI_TENSOR_H

/* CUDA: elements that a block works on at a time, and so the share of each sum over a tensor. */
enum { ONS_CUDA_CHUNK = 16384 };

#endif
