/* What a device reaches at best, by micro-benchmark: the peaks that operators are compared with. */
#ifndef ONSTAGE_RUNTIME_DEVICE_SPEED_H
#define ONSTAGE_RUNTIME_DEVICE_SPEED_H

#include "device/device.h"

typedef struct ons_device_speed {
    double flops;                        /* a second, of float32 multiply-adds (2 each) in registers, by all threads */
    double memory_bandwidth;             /* bytes a second, read and written, of arrays larger than most caches */
    double link_bandwidth, link_latency; /* of a copy by another stream, from device memory to device memory */
    double host_bandwidth, host_latency; /* likewise to host memory */
} ons_device_speed;

/* Takes less than a second, and 192 MiB of the device's memory meanwhile. The best of several runs counts, for the
 * latencies the median. */
ons_status *ons_device_speed_measure(ons_device *device, int threads, ons_device_speed *speed);

#endif
