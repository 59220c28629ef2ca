/* For which architecture kernels are compiled while the program runs. */
#ifndef ONSTAGE_DEVICE_CUDA_ARCHITECTURE_H
#define ONSTAGE_DEVICE_CUDA_ARCHITECTURE_H

#include "base/status.h"

enum { ONS_CUDA_ARCHITECTURE_BYTES = 32 };

/* `capability`: of the GPU, 90 for 9.0; `supported`: those that the compiler knows, in any order. "sm_90" where it
 * knows the GPU; "compute_90", whose PTX the driver compiles, where that is the nearest below it. Fails with
 * ONS_UNSUPPORTED where the GPU is older than all of them. */
ons_status *ons_cuda_choose_architecture(int capability, const int *supported, int count,
                                         char architecture[ONS_CUDA_ARCHITECTURE_BYTES]);

/* Whether code for it is PTX. */
bool ons_cuda_is_virtual(const char *architecture);

#endif
