/* The phases of a training step by name. */
#ifndef ONSTAGE_GRAPH_PHASE_H
#define ONSTAGE_GRAPH_PHASE_H

#include "graph/graph.h"

enum { ONS_PHASE_COUNT = ONS_UPDATE + 1 };

const char *ons_phase_name(ons_phase phase); /* in files: "input_gradient" */
const char *ons_phase_text(ons_phase phase); /* for people: "input gradient" */

#endif
