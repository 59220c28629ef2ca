/* --replicas auto: how many replicas of how many stages a number of devices is best given to (AutoPipe, Liu et al.,
 * CLUSTER 2022, section IV: the data-parallel degree is devices over stages). Each degree is planned whole, as if its
 * number had been given, so that what decides is what will run: with this machine's arenas, links, and any schedule. */
#ifndef ONSTAGE_ENGINE_PLAN_DEGREE_CHOICE_H
#define ONSTAGE_ENGINE_PLAN_DEGREE_CHOICE_H

#include <stdbool.h>

#include "engine/plan/plan_trials.h"

/* One way to share the devices. */
typedef struct ons_degree {
    int64_t replicas, stages; /* stages: of each replica */
    int64_t micro_batches;    /* of each replica; 0: as many as stages */
    ons_trial trial;
} ons_degree;

typedef struct ons_degree_choice {
    ons_degree *items; /* by rising stages */
    uint32_t count;    /* 0: the number was given */
    uint32_t taken;
    int64_t devices; /* of all replicas */
    double seconds;  /* that the search took */
} ons_degree_choice;

/* Plans every number of replicas that divides --devices, and gives the planning of that with the most samples a second;
 * of equal ones, of fewer stages. Where none fits it fails, and gives the planning that would need the least memory, or
 * NULL; else NULL only where it fails, too. The caller frees it. */
ons_status *ons_degree_choice_plan(const char *path, const ons_config *config, ons_planning **planning);

#endif
