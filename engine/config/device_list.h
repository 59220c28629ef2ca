/* --device-profile with several names: the kind of each device, where they differ. */
#ifndef ONSTAGE_ENGINE_CONFIG_DEVICE_LIST_H
#define ONSTAGE_ENGINE_CONFIG_DEVICE_LIST_H

#include "engine/config/config.h"
#include "planner/cost/device_profile.h"
#include "planner/partition/partition.h"

typedef struct ons_device_list {
    ons_device_profile *kinds; /* as they are named first; [0] stands for all where only one profile is needed */
    uint32_t kind_count;       /* 0: --device-profile names one, or none: all devices are alike */
    uint32_t *kind_of;         /* [device] */
    uint32_t count;            /* devices */
    const char *title;         /* for people: "2 × NVIDIA A100 40 GB (PCIe), 2 × …" */
} ons_device_list;

/* Tests whether the option names more than one device: "a100-40gb*2,v100-16gb*2". */
bool ons_device_list_is_given(const ons_config *config);
/* Gives the first profile that the option names; NULL: it is not given. In `arena`. */
ons_status *ons_device_list_first(const ons_config *config, ons_arena *arena, const char **name);

/* Loads the profiles of a list in the precision of the run. Fails where a count of devices is not that of the pipeline,
 * and where CPUs and GPUs are mixed. In `arena`. */
ons_status *ons_device_list_load(const ons_config *config, ons_arena *arena, ons_device_list *list);

/* Sets capacity, links and devices of a problem; their workloads are left to the caller. Links are as slow as those of
 * the slowest kind. */
ons_status *ons_device_list_pose(const ons_device_list *list, const ons_config *config, ons_arena *arena,
                                 ons_planning_problem *problem);

#endif
