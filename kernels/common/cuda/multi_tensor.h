/* Kernels that take many tensors by one launch. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_MULTI_TENSOR_H
#define ONSTAGE_KERNELS_COMMON_CUDA_MULTI_TENSOR_H

/* CUDA: elements that a block works on at a time, and so the share of each sum over a tensor. A thread has eight of
 * them: what it waits for is the memory, twice a chunk, and a tensor that is alone in a launch has blocks enough. */
enum { ONS_CUDA_CHUNK = 2048 };

#endif
