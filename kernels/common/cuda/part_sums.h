/* CUDA's ons_backend.add_parts. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_PART_SUMS_H
#define ONSTAGE_KERNELS_COMMON_CUDA_PART_SUMS_H

#include "kernels/backend.h"

ons_add_parts_function ons_cuda_add_parts;

#endif
