#include "device/device_kind.h"

const ons_device_kind *const ons_device_kinds[] = {&ons_cpu_kind, NULL};
