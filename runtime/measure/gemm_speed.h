/* What matrix products reach on a processor, for each element type: the best run of square ones of growing size, by the
 * kernels and threads that a model's nodes have. Half types are widened to float32 there, which is part of it. */
#ifndef ONSTAGE_RUNTIME_MEASURE_GEMM_SPEED_H
#define ONSTAGE_RUNTIME_MEASURE_GEMM_SPEED_H

#include "device/device.h"
#include "runtime/measure/measured_types.h"

/* Where products are measured. */
typedef struct ons_gemm_bench {
    ons_device *device;
    ons_stream *stream; /* with `threads` threads */
    ons_event *done;
    int threads;
    void *arrays[3]; /* of the device's memory; what is in them is overwritten */
    int64_t array_bytes;
} ons_gemm_bench;

/* FLOP/s, a multiply-add being 2. Fails where a type has no kernel, or one fails. Some tenths of a second a type. */
ons_status *ons_gemm_speed_measure(const ons_gemm_bench *space, double flops[ONS_MEASURED_TYPES]);

#endif
