/* What a device can do: one of the shipped profiles (planner/cost/profiles/NAME.json), a file of the user's in the same
 * form, or one that `onstage profile` measured. docs/device_profile.md describes the file.
 */
#ifndef ONSTAGE_PLANNER_COST_DEVICE_PROFILE_H
#define ONSTAGE_PLANNER_COST_DEVICE_PROFILE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"

/* Arithmetic of matrix products and convolutions. The default is fp32, as torch runs them unless told otherwise. */
typedef enum ons_precision {
    ONS_PRECISION_FP32,
    ONS_PRECISION_TF32,
    ONS_PRECISION_FP16,
    ONS_PRECISION_BF16,
    ONS_PRECISION_COUNT
} ons_precision;

/* Seconds of an operator with f FLOPs and b bytes: launch + max(f / (peak · share · f / (f + half)), the same of b and
 * the bandwidth): operators of `half` FLOPs reach half of what large ones do. */
typedef struct ons_efficiency {
    double share; /* of the peak that large operators reach */
    double half;  /* FLOPs or bytes at which half of that is reached */
} ons_efficiency;

typedef struct ons_device_profile {
    const char *name;         /* "a100-40gb" */
    const char *title;        /* "NVIDIA A100 40 GB (PCIe)" */
    const char *instructions; /* of a processor: "v4" (planner/cost/instructions.h); NULL: not said */
    bool processor; /* a CPU, whose kernels are onstage's own: their blocked layouts are part of what is planned */
    int64_t memory_bytes;
    int64_t reserve_bytes;   /* for context and libraries, under the cap */
    double matrix_flops;     /* a second, of matrix products and convolutions in the precision that was chosen */
    double vector_flops;     /* of everything else */
    double memory_bandwidth; /* bytes a second */
    double launch_seconds;   /* of a kernel */
    double link_bandwidth, link_latency; /* between neighbouring devices, each way */
    int64_t link_eager_bytes; /* messages of up to so many bytes leave without asking the other end; 0: not said */
    /* Between devices of different nodes; node_devices 0: all devices are in one. */
    int64_t node_devices; /* in a node */
    double network_bandwidth, network_latency;
    int64_t network_eager_bytes;
    double host_bandwidth, host_latency; /* between device and host, each way */
    ons_efficiency matrix, vector, memory;
    double
        fit_error; /* median relative error of the fitted curve on the nodes that it was not fitted to; 0: not fitted */
    const char *sources;     /* where the numbers come from: a line each, "memory_bytes: NVIDIA …" */
    ons_precision precision; /* of matrix_flops */
    double matrix_flops_of[ONS_PRECISION_COUNT]; /* 0: the device does not have it */
} ons_device_profile;

/* Loads one of the shipped profiles by its name, or a file by its path. Texts live in `arena`. The failure lists the
 * shipped names, or names file and field. */
ons_status *ons_device_profile_load(const char *name_or_path, ons_arena *arena, ons_device_profile *profile);
/* Reads a profile from the text of a file: a device profile, or what `onstage profile` wrote. */
ons_status *ons_device_profile_parse(const void *bytes, size_t size, ons_arena *arena, ons_device_profile *profile);
/* Lists the names of the shipped profiles; the list ends with NULL. */
const char *const *ons_device_profile_names(void);

/* Writes a profile as a JSON object that may stand in another; the caller frees it. */
ons_status *ons_device_profile_to_json(const ons_device_profile *profile, ons_json **json);
/* Text of a profile as a file holds it; free with free(). */
ons_status *ons_device_profile_print(const ons_device_profile *profile, char **text);

/* "fp32"; NULL where there is no such number. */
const char *ons_precision_name(ons_precision precision);
/* Computes matrix products in another precision. Fails where the device does not have it. */
ons_status *ons_device_profile_use(ons_device_profile *profile, ons_precision precision);

/* Estimates an operator's seconds by the analytic model. `matrix`: it is a dense product or convolution. */
double ons_device_profile_seconds(const ons_device_profile *profile, double flops, double bytes, bool matrix);
/* Estimates those seconds without the launch, and as if nothing were computed while memory is read: how a time changes
 * from one device to another is better told by both than by the longer of them. */
double ons_device_profile_work_seconds(const ons_device_profile *profile, double flops, double bytes, bool matrix);

#endif
