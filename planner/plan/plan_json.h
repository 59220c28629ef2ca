/* What writing and reading a plan share; for plan_*.c alone. */
#ifndef ONSTAGE_PLANNER_PLAN_PLAN_JSON_H
#define ONSTAGE_PLANNER_PLAN_PLAN_JSON_H

#include "base/json.h"
#include "planner/plan/plan.h"

/* Adds a new array or object under a name; what it gives belongs to `parent`. */
ons_status *ons_plan_add_object(ons_json *parent, const char *name, ons_json **child);
ons_status *ons_plan_add_array(ons_json *parent, const char *name, ons_json **child);
ons_status *ons_plan_append_object(ons_json *array, ons_json **child);
ons_status *ons_plan_set_int(ons_json *object, const char *name, int64_t value);      /* ≥ 0 */
ons_status *ons_plan_set_text(ons_json *object, const char *name, const char *value); /* NULL: left out */

/* Members that must lie between low and high, or not below 0. The failure names the member. */
ons_status *ons_plan_get_whole(const ons_json *object, const char *name, int64_t low, int64_t high, int64_t *value);
ons_status *ons_plan_get_bytes(const ons_json *object, const char *name, int64_t *value);
ons_status *ons_plan_get_seconds(const ons_json *object, const char *name, double *value);

/* The parts of the plan's costs that the simulator runs: plan_parts.c. Reading needs the stages; the kinds of actions
 * that stand in for pieces are "forward", "backward" and "recompute". */
ons_status *ons_plan_write_parts(ons_json *stage, const ons_stage_tasks *tasks);
ons_status *ons_plan_write_links(ons_json *costs, const ons_plan *plan);
ons_status *ons_plan_read_parts(const ons_json *stage, ons_arena *arena, ons_stage_tasks *tasks);
ons_status *ons_plan_read_links(const ons_json *costs, ons_arena *arena, ons_plan *plan);

#endif
