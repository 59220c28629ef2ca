/* Devices with discrete memory (tests/fake_gpu/discrete_memory) with the library in NCCL's place whose ranks are
 * threads (fake_nccl.h). */
#ifndef ONSTAGE_TESTS_FAKE_GPU_NCCL_DISCRETE_NCCL_H
#define ONSTAGE_TESTS_FAKE_GPU_NCCL_DISCRETE_NCCL_H

#include "tests/fake_gpu/nccl/fake_nccl.h"

/* Loads it, and makes so many GPUs. */
const fake_nccl *discrete_nccl_use(int gpus);

/* What was wrong in how it was called, and is left behind; NULL: nothing. */
const char *discrete_nccl_complaint(void);

#endif
