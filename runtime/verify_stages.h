/* Whether the stages' programs can run together, found out before anything runs.
 *
 * - What stages send each other agrees at both ends: number, name, type, order.
 * - All stages are played at once by the rules of the worker, with messages that nothing buffers: none waits for ever,
 *   and none is left over.
 * - Each stage's memory is played part by part: what a node reads is what was put there, of its own micro-batch, and
 *   nothing is put over what is read later, is being sent, copied or received. This knows addresses, and nothing of how
 *   the layout came about.
 */
#ifndef ONSTAGE_RUNTIME_VERIFY_STAGES_H
#define ONSTAGE_RUNTIME_VERIFY_STAGES_H

#include "planner/pipeline.h"
#include "runtime/stage_program.h"

/* One flight of micro-batches (runtime/worker.h) through all stages. */
typedef struct ons_verify_options {
    uint32_t stages;
    const ons_stage_program *const *programs; /* of each stage */
    const ons_action_list *lists;             /* likewise */
    uint32_t micro_batches;
    bool updates; /* update actions are carried out */
    bool asynchronous;
} ons_verify_options;

/* The failure is ONS_DEFECT and names stage, micro-batch and value: of a deadlock the first stage that is stuck. */
ons_status *ons_verify_stages(const ons_verify_options *options);

#endif
