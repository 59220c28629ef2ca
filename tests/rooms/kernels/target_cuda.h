/* Kernels on the first GPU, where there is one. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_TARGET_CUDA_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_TARGET_CUDA_H

#include "tests/rooms/kernels/target.h"

/* NULL where it can be used, else "not run: …". To be asked before the backend is used. */
const char *ons_target_cuda_why_not(void);

extern const ons_target ons_target_cuda;

#endif
