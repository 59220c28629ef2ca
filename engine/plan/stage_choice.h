/* What stages choose by themselves (--stage-sizes, --stage-replicas): the planner's problem then has workloads of
 * several sizes of micro-batches. With a barrier, stages that compare samples (joint_samples.h) have no choice: they
 * take all of a step's, so that a contrastive loss is the whole batch's, whatever the micro-batches of the towers are.
 */
#ifndef ONSTAGE_ENGINE_PLAN_STAGE_CHOICE_H
#define ONSTAGE_ENGINE_PLAN_STAGE_CHOICE_H

#include "engine/plan/planning.h"

/* Puts the choice into the problem, which has been posed with `input`; nothing where stages choose nothing. Workloads
 * of 2, 4, … micro-batches at once, up to the largest power of two that divides their number, are drawn on between that
 * of one and that of the most, for which a graph is made. In the planning's arena. What cannot be planned is refused
 * with the option's name. */
ons_status *ons_stage_choice_pose(ons_planning *planning, const ons_plan_input_options *input);

#endif
