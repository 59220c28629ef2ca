#include "device/device_kind.h"

#include <string.h>

ons_status *ons_device_kind_find(const char *name, const ons_device_kind **kind) {
    for (const ons_device_kind *const *each = ons_device_kinds; *each != NULL; ++each)
        if (strcmp((*each)->name, name) == 0) {
            *kind = *each;
            return NULL;
        }
    ONS_CHECK(strcmp(name, "cuda") == 0, ONS_INVALID_ARGUMENT, "'%s' is neither cpu nor cuda", name);
    return ons_status_new(ONS_UNSUPPORTED, "--device cuda: this build has no CUDA; build it with --config=cuda, or use "
                                           "--device cpu");
}

static ons_status *check(void) { return NULL; }

static int count(void) { return 1; }

static ons_status *device_new(int index, int64_t limit_bytes, bool pin, ons_device **device) {
    ONS_CHECK(index == 0, ONS_INVALID_ARGUMENT, "CPU %d is asked for, there is one", index);
    return ons_cpu_device_new(limit_bytes, pin, device);
}

const ons_device_kind ons_cpu_kind = {.name = "cpu", .check = check, .count = count, .device_new = device_new};
