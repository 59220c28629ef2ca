/* Values that somebody outside of a graph knows by their ids, while passes change these. */
#ifndef ONSTAGE_GRAPH_PASSES_TRACKED_H
#define ONSTAGE_GRAPH_PASSES_TRACKED_H

#include "graph/graph.h"

/* A pass keeps them, as the file has them (type, layout), and writes their new ids here: ONS_NONE where a value that a
 * node made went with it. Entries that are ONS_NONE stay so. Where a pass takes tracked values, NULL means none. */
typedef struct ons_tracked_values {
    ons_value_id *ids;
    size_t count;
} ons_tracked_values;

static inline size_t ons_tracked_count(const ons_tracked_values *tracked) {
    return tracked == NULL ? 0 : tracked->count;
}

#endif
