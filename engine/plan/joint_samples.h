/* Nodes that compare the samples of a micro-batch with each other: the similarities of all pairs before a contrastive
 * loss, say. With smaller micro-batches they compute something else, not less of the same. */
#ifndef ONSTAGE_ENGINE_PLAN_JOINT_SAMPLES_H
#define ONSTAGE_ENGINE_PLAN_JOINT_SAMPLES_H

#include "engine/model/model_graph.h"
#include "planner/cost/graph_work.h"

/* `joint`: [position of the workload], in `arena`; NULL: there is none, or the graphs are not of the same nodes. A node
 * is joint if a value of its has more than one axis of samples, which shows by the graph's shapes with `few` and `many`
 * samples; so is its neighbour where the value between them has its samples along an inner axis, and cannot be put
 * together of those of smaller micro-batches. */
ons_status *ons_joint_samples_find(const ons_model_graph *few, const ons_model_graph *many, const ons_graph_work *work,
                                   ons_arena *arena, const bool **joint);

#endif
