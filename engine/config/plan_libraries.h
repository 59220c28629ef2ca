/* The libraries that a plan was made with, beside those that are here. */
#ifndef ONSTAGE_ENGINE_CONFIG_PLAN_LIBRARIES_H
#define ONSTAGE_ENGINE_CONFIG_PLAN_LIBRARIES_H

#include <stdio.h>

#include "planner/plan/plan.h"

/* Those that choose this machine's kernels, for a plan that asked these; in `arena`. */
ons_status *ons_plan_libraries_fill(ons_arena *arena, ons_plan_subject *subject);

/* A line for each that differs, and what that means; nothing where all agree, or the plan asked no kernel. That is no
 * failure: the plan's times and its kernels' scratch memory are then those of another machine or build. */
void ons_plan_libraries_compare(const ons_plan_subject *subject, FILE *out);

/* " (planned with onstage's variant v3, here v4)" for the end of a message: the first that differs, or ""; in `arena`.
 */
ons_status *ons_plan_libraries_differ(const ons_plan_subject *subject, ons_arena *arena, const char **text);

/* The libraries that compute here in one line, for checkpoints and --version: "oneDNN 2.6.3, …"; in `arena`, NULL where
 * memory is short. */
const char *ons_libraries_text(ons_arena *arena);

#endif
