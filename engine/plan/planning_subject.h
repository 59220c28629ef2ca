/* What a plan says it is for, and what it costs where nothing fits; parts of engine/plan/planning.c. */
#ifndef ONSTAGE_ENGINE_PLAN_PLANNING_SUBJECT_H
#define ONSTAGE_ENGINE_PLAN_PLANNING_SUBJECT_H

#include "engine/plan/planning.h"

/* Fills in plan.subject for the input that was posed last. */
ons_status *ons_planning_name_subject(ons_planning *planning, int64_t batch, int64_t micro_batches);

/* ONS_OUT_OF_MEMORY with the smallest memory that would do, as --memory, and what it would cost. *bytes: what
 * `planning->plan` takes when it is laid out, without the libraries' share; 0: the memory is found by estimates, and
 * set.
 */
ons_status *ons_planning_refuse(const ons_planning *planning, int64_t *bytes);

#endif
