/* Kernels on the first GPU by way of a CUDA graph. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_CAPTURED_CUDA_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_CAPTURED_CUDA_H

#include "tests/rooms/kernels/target.h"

/* ons_target_cuda, whose second run of a case is recorded and repeated: the bits must be those of the first, which is
 * put on a stream. */
const ons_target *ons_target_captured(void);

#endif
