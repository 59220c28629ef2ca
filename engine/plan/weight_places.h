/* Which stages of a cut training graph hold what training changes (trained weights, running statistics), so that
 * another cut of the same model's graphs, which shares the stages' memory, reads it there: anywhere else it would keep
 * its first contents for ever. */
#ifndef ONSTAGE_ENGINE_PLAN_WEIGHT_PLACES_H
#define ONSTAGE_ENGINE_PLAN_WEIGHT_PLACES_H

#include "engine/model/model_graph.h"
#include "graph/passes/cut.h"

typedef struct ons_weight_places {
    const ons_graph *trained; /* whole */
    const ons_cut *cut;       /* of `trained` */
    bool *changes;            /* of each value: a step gives it new contents */
    uint32_t *stage_of_node;  /* where the cut has it; ONS_NONE: it is left out */
} ons_weight_places;

/* Everything in `arena`; graph and cut outlive the result. */
ons_status *ons_weight_places_find(const ons_graph *trained, const ons_cut *cut, ons_arena *arena,
                                   ons_weight_places *places);

/* The stage to ask for, for a node of another graph: where the node of the same name runs, but for one that reads what
 * changes and is not held there: a stage that holds it. ONS_NONE: nothing is known of the node. */
uint32_t ons_weight_places_stage(const ons_weight_places *places, const ons_graph *graph, ons_node_id node);

/* Fails where a stage of another cut, of `graph`, has something that changes and is not in the same stage in training.
 */
ons_status *ons_weight_places_check(const ons_weight_places *places, const ons_graph *graph, const ons_cut *cut);

#endif
