/* What a device can do: read from planner/profiles/NAME.json, or from a file of the user's that `onstage profile`
 * wrote.
 */
#ifndef ONSTAGE_PLANNER_DEVICE_PROFILE_H
#define ONSTAGE_PLANNER_DEVICE_PROFILE_H

#include "base/arena.h"
#include "base/status.h"
#include "graph/type.h"

/* Seconds of an operator with f FLOPs and b bytes: launch + max(f / (peak · f / (f + half_flops)),
 * b / (bandwidth · b / (b + half_bytes))): small operators reach half of the peak at half_flops. */
typedef struct ons_efficiency {
    double share; /* of the peak that large operators reach */
    double half;  /* FLOPs or bytes at which half of that is reached */
} ons_efficiency;

typedef struct ons_device_profile {
    const char *name;  /* "a100-40gb" */
    const char *title; /* "NVIDIA A100 40 GB (SXM4)" */
    int64_t memory_bytes;
    int64_t reserve_bytes;   /* for context and libraries, under the cap */
    double matrix_flops;     /* a second, of float32 matrix products and convolutions as this profile runs them */
    double vector_flops;     /* of everything else */
    double memory_bandwidth; /* bytes a second */
    double launch_seconds;   /* of a kernel */
    double link_bandwidth, link_latency; /* between neighbouring devices, each way */
    double host_bandwidth, host_latency; /* between device and host, each way */
    ons_efficiency matrix, vector, memory;
    double
        fit_error; /* median relative error of the fitted curve on the nodes that it was not fitted to; 0: not fitted */
    const char *sources; /* where the numbers come from */
} ons_device_profile;

/* One of the shipped profiles, or a path to a file. Texts live in `arena`. The failure lists the shipped names. */
ons_status *ons_device_profile_load(const char *name_or_path, ons_arena *arena, ons_device_profile *profile);
/* The names of the shipped ones; ends with NULL. */
const char *const *ons_device_profile_names(void);
/* Text of a profile as a file holds it; free with free(). */
ons_status *ons_device_profile_print(const ons_device_profile *profile, char **text);

/* The analytic model. `matrix`: a dense product or convolution. */
double ons_device_profile_seconds(const ons_device_profile *profile, double flops, double bytes, bool matrix);

#endif
