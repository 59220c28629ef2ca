#include "device/cuda_architecture.h"

#include <stdio.h>
#include <string.h>

ons_status *ons_cuda_choose_architecture(int capability, const int *supported, int count,
                                         char architecture[ONS_CUDA_ARCHITECTURE_BYTES]) {
    int nearest = 0, least = 0;
    for (int i = 0; i < count; ++i) {
        if (supported[i] <= capability && supported[i] > nearest) nearest = supported[i];
        if (least == 0 || supported[i] < least) least = supported[i];
    }
    ONS_CHECK(nearest > 0, ONS_UNSUPPORTED,
              "NVRTC compiles for GPUs of compute capability %d.%d and newer, this one has %d.%d", least / 10,
              least % 10, capability / 10, capability % 10);
    snprintf(architecture, ONS_CUDA_ARCHITECTURE_BYTES, "%s_%d", nearest == capability ? "sm" : "compute", nearest);
    return NULL;
}

bool ons_cuda_is_virtual(const char *architecture) { return strncmp(architecture, "compute_", 8) == 0; }
