/* Shared by the two files that make a pipeline's tasks: pipeline_tasks.c (computations and copies to the host) and
 * pipeline_transfers.c (what stages send each other). */
#ifndef ONSTAGE_PLANNER_SIMULATE_PIPELINE_ADDER_H
#define ONSTAGE_PLANNER_SIMULATE_PIPELINE_ADDER_H

#include "planner/simulate/pipeline_tasks.h"

typedef struct ons_pipeline_adder {
    ons_pipeline_tasks *x;
    ons_simulation *s;
    ons_task_id *last; /* [device]: of its compute stream */
    /* out[number of the stage's copy][micro-batch · copies to the host + copy]: to the host; in[copy]: back */
    ons_task_id **out, *in;
    ons_task_id *transfers; /* by ons_pipeline_transfer, as pipeline_transfers.c numbers them */
    ons_task_id *arrivals;  /* by ons_pipeline_transfer: what readers wait for, mostly the transfer itself */
    /* [number of the stage's copy]: the last part that adds to weights' gradients; what begins when all copies have
     * theirs; the update */
    ons_task_id *gradient_last, *sum, *update;
    bool *forward_newest; /* [number of the stage's copy]: its last part was a forward part */
    bool free_links;      /* transfers take their time, but nobody waits for a link */
} ons_pipeline_adder;

static inline ons_resource_id ons_device_stream(uint32_t device, uint32_t which) {
    return device * ONS_DEVICE_STREAMS + which;
}

static inline ons_status *ons_adder_wait(ons_pipeline_adder *a, ons_task_id task, ons_task_id before) {
    return before == ONS_NO_TASK ? NULL : ons_simulation_add_dependency(a->s, before, task, 0);
}

/* A link's value for one micro-batch, or its gradient; or the gradients of weights that two stages share. */
typedef struct ons_pipeline_transfer {
    bool tie;
    uint32_t link, unit; /* a link, or a tie; the message's first unit: of a tie the first one of its copies */
    bool gradient;       /* from the later stage to the earlier one */
    bool half;           /* the activation's first half, where halves go one by one */
    double start;        /* with links that are free */
    uint32_t order;
} ons_pipeline_transfer;

/* Entries of adder->transfers and adder->arrivals. */
size_t ons_pipeline_transfer_places(const ons_pipeline_tasks *tasks);
ons_status *ons_pipeline_transfers_list(const ons_pipeline_tasks *tasks, ons_arena *arena, ons_pipeline_transfer **list,
                                        size_t *count);
/* Adds the transfers in this order, with all that they wait for and that waits for them: computations have been added.
 */
ons_status *ons_pipeline_transfers_add(ons_pipeline_adder *adder, const ons_pipeline_transfer *list, size_t count);
/* Sorts the transfers by when they started in the last run. */
void ons_pipeline_transfers_sort(const ons_pipeline_adder *adder, ons_pipeline_transfer *list, size_t count);

#endif
