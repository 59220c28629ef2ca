/* What a processor reaches at best, by micro-benchmark: the peaks that operators are compared with. */
#ifndef ONSTAGE_RUNTIME_MEASURE_DEVICE_SPEED_H
#define ONSTAGE_RUNTIME_MEASURE_DEVICE_SPEED_H

#include "device/device.h"
#include "runtime/measure/measured_types.h"

typedef struct ons_device_speed {
    double gemm_flops[ONS_MEASURED_TYPES]; /* a second, of the kernels that models run:
                                                 runtime/measure/gemm_speed.h */
    double memory_bandwidth;               /* bytes a second, read and written, of arrays that no cache holds */
    double link_bandwidth, link_latency;   /* of a copy by another stream, from device memory to device memory */
    double host_bandwidth, host_latency;   /* of a copy by another stream, between device memory and host memory */
    double array_bytes;                    /* of each array that this was measured with */
} ons_device_speed;

/* Takes about a second, and of the device's memory three arrays of the size that ons_array_beyond_caches (runtime/
 * cache_size.h) chooses, of the host's one, meanwhile. Everything runs several times in a row; of products the best
 * run counts, of bandwidths the quarter that is fastest, for latencies the median. */
ons_status *ons_device_speed_measure(ons_device *device, int threads, ons_device_speed *speed);

#endif
