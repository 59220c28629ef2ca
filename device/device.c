#include "device/device.h"

#include <string.h>

#include "device/cuda.h"

ons_status *ons_device_check(const char *name) {
    if (strcmp(name, "cpu") == 0) return NULL;
    ONS_CHECK(strcmp(name, "cuda") == 0, ONS_INVALID_ARGUMENT, "'%s' is neither cpu nor cuda", name);
    return ons_cuda_check();
}

ons_status *ons_device_new(const char *name, int64_t limit_bytes, bool pin, ons_device **device) {
    ONS_TRY(ons_device_check(name));
    if (strcmp(name, "cpu") == 0) return ons_cpu_device_new(limit_bytes, pin, device);
    return ons_cuda_device_new(0, limit_bytes, device);
}
