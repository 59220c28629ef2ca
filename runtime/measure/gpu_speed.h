/* What a GPU reaches at best, by micro-benchmark with its own clock: the peaks that operators are compared with. */
#ifndef ONSTAGE_RUNTIME_MEASURE_GPU_SPEED_H
#define ONSTAGE_RUNTIME_MEASURE_GPU_SPEED_H

#include "device/device.h"
#include "runtime/measure/measured_types.h"

typedef struct ons_gpu_speed {
    double gemm_flops[ONS_MEASURED_TYPES]; /* a second; 0: the library has no such product here */
    double memory_bandwidth;               /* bytes a second, read and written, of copies within the memory */
    double link_bandwidth, link_latency;   /* from one stage's arena to another's: a copy on another stream */
    double out_bandwidth, in_bandwidth;    /* to pinned host memory, and from there, one at a time */
    double both_bandwidth;                 /* each way, both at once */
    double host_latency;                   /* of a copy to the host that another stream waits for */
} ons_gpu_speed;

/* Takes some seconds, and up to 800 MiB of the device's memory (three parts in 64, and 32 MiB) meanwhile. The best of
 * several runs counts, for latencies the median. Operands of products are random: a GPU is faster on zeros. */
ons_status *ons_gpu_speed_measure(ons_device *device, ons_gpu_speed *speed);

#endif
