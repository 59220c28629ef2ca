/* Sequential training with delayed gradients: what an asynchronous pipeline must come to, bit by bit. One program of
 * the whole graph runs one micro-batch after the other, node by node, and every node finds the weights that its stage
 * would have; what is made of weights before the micro-batches (another layout, a rounded copy) every stage makes of
 * its own. It knows of no messages, slots or places that are used in turn: it keeps all weights that there ever were,
 * by the number of updates in them.
 *
 * Stage x of l (from 0) holds l - x micro-batches (PipeDream, Section 3.3), so the forward part of micro-batch i comes
 * behind the update with micro-batch i - (l - x). Its backward part works with the same weights; its update changes the
 * newest ones.
 */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_DELAYED_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_DELAYED_H

#include "runtime/program/stage_program.h"

typedef struct delayed delayed;

/* Starts with the weights that lie in the machine, which is started. `whole`: any of the programs that will run, made
 * of a cut into one stage. */
ons_status *delayed_new(ons_device_context *device_context, const ons_stage_program *whole, uint32_t stages,
                        delayed **result);
void delayed_free(delayed *d); /* NULL is fine; before the machine */

/* The stage of each node of a graph that was cut into one stage, when it is cut as `cut` says. In `arena`. */
ons_status *delayed_find_stages(const ons_cut *cut, const ons_cut *whole, ons_arena *arena, uint32_t **stage_of_node);

typedef struct delayed_turn {
    const ons_stage_program *whole;
    const uint32_t *stage_of_node; /* of its graph */
    uint32_t micro_batch;          /* since the pipeline was empty */
    ons_step step;
    uint64_t update; /* its number, for the optimiser */
} delayed_turn;

/* One micro-batch forward and back, and its update. Data has been put in. */
ons_status *delayed_run(delayed *d, const delayed_turn *turn);

/* Another number of stages from here on; the pipeline is empty. */
void delayed_set_stages(delayed *d, uint32_t stages);

#endif
