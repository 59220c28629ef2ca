/* Element types whose matrix products are measured on a device. */
#ifndef ONSTAGE_RUNTIME_MEASURE_MEASURED_TYPES_H
#define ONSTAGE_RUNTIME_MEASURE_MEASURED_TYPES_H

typedef enum ons_measured_type {
    ONS_MEASURED_FP32,
    ONS_MEASURED_FP16,
    ONS_MEASURED_BF16,
    ONS_MEASURED_TYPES
} ons_measured_type;

#endif
