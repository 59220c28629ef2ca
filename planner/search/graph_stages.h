/* GraphPipe's search (planner/stage_graph/graphpipe.h) as a way to plan a pipeline: one stage a device, one size of
 * micro-batches; or, with the problem's choice, sizes and replicas by stage, where the pipeline's stages say how many
 * devices there are, and its micro-batches are the smallest that a stage may take. The order of the nodes, the cuts and
 * the lists of actions are found together, so that branches of the model are computed side by side, and a stage has no
 * more micro-batches in flight than stages stand behind it in a row. The cuts that "auto" finds, with such lists, are
 * tried as well: with few devices a stage is often best part of one branch and part of another, which GraphPipe's
 * stages never are.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_GRAPH_STAGES_H
#define ONSTAGE_PLANNER_SEARCH_GRAPH_STAGES_H

#include "planner/search/planner.h"

typedef struct ons_graph_stages {
    ons_planned planned; /* planned.problem has the pipeline and the schedule that were found */
    double step_seconds; /* as simulated; infinite: nothing fits */
    const char *hangs;   /* for the search's own use: why lists that are asked for cannot run */
    bool straight;       /* every stage follows the one before it: what a schedule of a line has as well */
} ons_graph_stages;

/* Searches; everything in `arena`. Of the problem's pipeline, stages, devices and micro-batches are looked at; several
 * stages on a device are ONS_INVALID_ARGUMENT. `any_order`: in any order of the nodes; else stages follow each other in
 * theirs. Stages are searched that fit with all tensors kept, and, where there are none, the memory strategy makes the
 * fastest fit, or says what would do. Where the problem follows lists its stages are numbered as these need
 * it; lists that cannot run with the stages that are found are ONS_INVALID_DATA, with the reason. */
ons_status *ons_graph_stages_search(const ons_planning_problem *problem, bool any_order, ons_arena *arena,
                                    ons_graph_stages *found);

#endif
