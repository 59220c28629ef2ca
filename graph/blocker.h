/* What stands in the way of training a model, one entry a problem. `check` lists them all; others stop at the first. */
#ifndef ONSTAGE_GRAPH_BLOCKER_H
#define ONSTAGE_GRAPH_BLOCKER_H

#include "base/vector.h"

typedef struct ons_blocker {
    const char *node; /* a node's name, or a value's */
    const char *operator_name;
    const char *reason;
    const char *remedy;
} ons_blocker;
typedef ONS_VECTOR(ons_blocker) ons_blockers;

#endif
