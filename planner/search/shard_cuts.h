/* Cuts of the body of a model with shards, one stage for each device, so that the slowest device with all that it
 * holds is as fast as can be. */
#ifndef ONSTAGE_PLANNER_SEARCH_SHARD_CUTS_H
#define ONSTAGE_PLANNER_SEARCH_SHARD_CUTS_H

#include "planner/search/device_memory.h"
#include "planner/search/shard_order.h"

enum { ONS_SHARD_RESTS = 2 }; /* as it is, and in as little memory as can be */

typedef struct ons_shard_cutting {
    const ons_planning_problem *problem; /* with its nodes in `order` */
    const ons_shard_order *order;
    ons_stage_costs *costs; /* of stages as in the order, with their schedule; NULL: memory is left aside */
    ons_device_rest *rests; /* [device · ONS_SHARD_RESTS]: what a device holds beside its part of the body */
} ons_shard_cutting;

/* Takes the rests of all devices; in `arena`. `costs` NULL: in their computing alone; the memo is then not needed. */
ons_status *ons_shard_cutting_make(const ons_planning_problem *problem, const ons_shard_order *order,
                                   ons_stage_costs *costs, ons_stage_memo *memo, ons_arena *arena,
                                   ons_shard_cutting *cutting);

/* Finds in how many seconds for a micro-batch the slowest device can be, and the slowest message between neighbours,
 * to within a hundredth where memory counts; infinite: no cuts were found that fit. */
ons_status *ons_shard_cuts_fastest(const ons_shard_cutting *cutting, double *seconds);

typedef enum ons_shard_filling {
    ONS_SHARD_FILL_FRONT, /* the first devices as full as can be */
    ONS_SHARD_FILL_BACK,
    ONS_SHARD_SEND_LITTLE, /* of the cuts in between, those with the smallest messages, then the most even ones */
    ONS_SHARD_FILLINGS
} ons_shard_filling;

/* Finds cuts with which every device takes at most so long, of each kind: [filling · (devices + 1) + device], in the
 * caller's memory. */
ons_status *ons_shard_cuts_find(const ons_shard_cutting *cutting, double seconds, uint32_t *cuts, bool *found);

/* The first node of all stages, with these cuts of the body: stages + 1 positions. */
void ons_shard_cuts_place(const ons_shard_order *order, const uint32_t *cuts, uint32_t *first);

/* Counts stages. */
static inline uint32_t ons_shard_stage_count(const ons_shard_order *order) {
    return order->early_count + order->devices + order->late_count;
}
/* Gives the device of a stage. */
uint32_t ons_shard_stage_device(const ons_shard_order *order, uint32_t stage);

#endif
