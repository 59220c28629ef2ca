#include <criterion/criterion.h>

#include "runtime/device_speed.h"
#include "tests/runtime/scratch.h"

Test(device_speed, is_measured_and_gives_all_memory_back) {
    ons_device *device;
    ons_device_speed speed;
    expect_success(ons_cpu_device_new(0, false, &device));
    expect_success(ons_device_speed_measure(device, 1, &speed));
    /* Bounds that any processor of the last twenty years keeps, and none of the next. */
    cr_expect(speed.flops > 1e8 && speed.flops < 1e13, "%g FLOP/s", speed.flops);
    cr_expect(speed.memory_bandwidth > 1e8 && speed.memory_bandwidth < 1e13, "%g bytes/s", speed.memory_bandwidth);
    cr_expect(speed.host_bandwidth > 1e8 && speed.host_bandwidth < 1e13, "%g bytes/s", speed.host_bandwidth);
    cr_expect(speed.link_bandwidth > 1e8 && speed.link_bandwidth < 1e13, "%g bytes/s", speed.link_bandwidth);
    cr_expect(speed.host_latency > 0 && speed.host_latency < 0.1, "%g s", speed.host_latency);
    cr_expect(speed.link_latency > 0 && speed.link_latency < 0.1, "%g s", speed.link_latency);
    cr_expect_eq(device->used_bytes, 0);
    device->free(device);
}
