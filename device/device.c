#include "device/device_kind.h"

ons_status *ons_device_check(const char *name) {
    const ons_device_kind *kind;
    ONS_TRY(ons_device_kind_find(name, &kind));
    return kind->check();
}

ons_status *ons_device_new(const char *name, int64_t limit_bytes, bool pin, ons_device **device) {
    const ons_device_kind *kind;
    ONS_TRY(ons_device_kind_find(name, &kind));
    ONS_TRY(kind->check());
    return kind->device_new(0, limit_bytes, pin, device);
}
