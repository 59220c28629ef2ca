/* The formats of a cost file, each with its own reader. What a reader gives is not finished: nodes numbered as they
 * stand in the file, every layer named, lists in any order. For cost_file.c alone. */
#ifndef ONSTAGE_PLANNER_COST_COST_FILE_FORMATS_H
#define ONSTAGE_PLANNER_COST_COST_FILE_FORMATS_H

#include "base/json.h"
#include "planner/workload/workload.h"

ons_status *ons_cost_file_read_own(const ons_json *json, ons_arena *arena, ons_workload *work);
ons_status *ons_cost_file_read_piper(const ons_json *json, ons_arena *arena, ons_workload *work);
ons_status *ons_cost_file_read_pipedream(const char *text, size_t size, ons_arena *arena, ons_workload *work);

/* Tests a time in seconds, or rounds a size up to bytes; false where it is negative, not finite or (for a size) over
 * 2^53. */
bool ons_cost_file_is_time(double seconds);
bool ons_cost_file_to_bytes(double value, int64_t *bytes);

/* Every node as a layer of its own. */
ons_status *ons_cost_file_layer_each(ons_workload *work, ons_arena *arena);

#endif
