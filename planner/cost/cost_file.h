/* A file of costs instead of a model (docs/cost_graph.md). Recognised by content:
 *
 *   onstage's own   JSON with the member "onstage_cost_graph"
 *   Piper's         JSON with "nodes" and "edges" (github.com/msr-fiddle/piper)
 *   PipeDream's     text: a line for every node, a line for every edge (github.com/msr-fiddle/pipedream)
 */
#ifndef ONSTAGE_PLANNER_COST_COST_FILE_H
#define ONSTAGE_PLANNER_COST_COST_FILE_H

#include "planner/workload/order.h"
#include "planner/workload/workload.h"

enum { ONS_COST_FILE_VERSION = 1 };

typedef struct ons_cost_file_options {
    ons_order_kind order;
    uint32_t stages; /* for the packed order alone */
} ons_cost_file_options;

/* Reads a file of costs into `arena`. `options` NULL: the order by depth. The failure (ONS_INVALID_DATA) names line or
 * member; neither times nor sizes are taken on trust. */
ons_status *ons_cost_file_parse(const void *bytes, size_t size, const ons_cost_file_options *options, ons_arena *arena,
                                ons_workload *work);

/* Loads a file of costs by its path, which is the name of the workload where the file gives none. */
ons_status *ons_cost_file_load(const char *path, const ons_cost_file_options *options, ons_arena *arena,
                               ons_workload *work);

/* Text of our own format, which reads back to the same workload; free with free(). Needs names that are different. */
ons_status *ons_cost_file_print(const ons_workload *work, char **text);

#endif
