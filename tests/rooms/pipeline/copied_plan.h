/* Gives stages of a plan's file copies, as a person would who edits it. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_COPIED_PLAN_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_COPIED_PLAN_H

#include "base/status.h"

/* `copies`: "3,1,2", of each stage; each divides the plan's micro-batches. Every copy has a device, and its list is
 * that of 1F1B (tests/rooms/pipeline/copies.h); what the planner says of times stays that of the plan without copies.
 */
ons_status *copied_plan(const char *from, const char *to, const char *copies);

#endif
