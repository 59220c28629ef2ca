/* What a plan says it is for: model, options, batch, devices and libraries. It is written into the plan's file
 * (ons_plan.subject), and a run that follows the file compares it with its own, so that a plan is not followed by
 * something that it was not made for. */
#ifndef ONSTAGE_ENGINE_PLAN_PLAN_SUBJECT_H
#define ONSTAGE_ENGINE_PLAN_PLAN_SUBJECT_H

#include <stdio.h>

#include "engine/model/model_graph.h"
#include "planner/plan/plan.h"

/* Everything but batch, micro_batches and device_profile, from a training graph; texts in `arena` or the model's.
 * `here`: kernels are those of this machine, so libraries are named. */
ons_status *ons_plan_subject_fill(const ons_model *model, const ons_config *config, bool here,
                                  const ons_model_graph *graph, ons_arena *arena, ons_plan_subject *subject);

/* Prints "batch 16 in 2 replicas of 3 micro-batches". */
void ons_plan_subject_print_batch(const ons_plan_subject *subject, FILE *out);

/* ONS_INVALID_ARGUMENT with the first thing that differs. */
ons_status *ons_plan_subject_check(const ons_plan_subject *planned, const ons_plan_subject *run);

#endif
