/* Verifies that the stages' programs can run together, before anything runs.
 *
 * - What stages send each other agrees at both ends: number, name, type, order.
 * - All stages are played at once by the rules of the worker, with messages that nothing buffers: none waits for ever,
 *   and none is left over.
 * - Each stage's memory is played part by part: what a node reads is what was put there, of its own micro-batch, and
 *   nothing is put over what is read later, is being sent, copied or received. This knows addresses, and nothing of how
 *   the layout came about.
 * - With asynchronous updates each micro-batch reads the weights of the same update in its forward and its backward
 *   part, the newest that the number of versions allows.
 *
 * Of stages in several processes each process verifies its own, and sends the others its communication manifest.
 */
#ifndef ONSTAGE_RUNTIME_VERIFY_VERIFY_STAGES_H
#define ONSTAGE_RUNTIME_VERIFY_VERIFY_STAGES_H

#include "base/vector.h"
#include "planner/schedule/device_groups.h"
#include "runtime/program/stage_program.h"
#include "runtime/program/units.h"

/* What a device has of a pass, where stages have copies. */
typedef struct ons_verify_share {
    uint32_t micro_batches, first_count; /* its own, in the place of the pass's */
    uint32_t number;                     /* the stage's number of the first one; the next is `copies` further */
    uint32_t group, copy, copies;        /* in the pass's groups */
    uint32_t variant;                    /* of its first program; the second's is the next one */
} ons_verify_share;

/* One pass of micro-batches (runtime/pipeline/worker.h) through all stages. */
typedef struct ons_verify_options {
    uint32_t stages;                          /* devices; below, too, a stage is one */
    const ons_device_group *groups;           /* as the cut numbers them; NULL: each is a device */
    const ons_verify_share *shares;           /* [device]; NULL: without copies */
    const ons_stage_program *const *programs; /* of each stage that is looked at */
    const ons_stage_program *const *seconds;  /* of each stage that is looked at: of the micro-batches behind the first
                                                 `first_count`, see ons_lineup; NULL: all run the programs above */
    const ons_action_list *lists;             /* of each stage that is looked at */
    uint32_t micro_batches, first_count;
    const uint32_t *sizes; /* of each stage: so many units of the step are a micro-batch of its own
                              (runtime/program/units.h); NULL: one everywhere */
    bool rest;    /* there is one micro-batch, which all stages compute at once: it begins at a unit that does so
                     for all */
    bool updates; /* update actions are carried out */
    bool asynchronous;
    bool inference; /* forward parts alone */
    bool halves;    /* forward parts that the lists have in halves are computed so */
} ons_verify_options;

typedef ONS_VECTOR(unsigned char) ons_verify_bytes;

/* Verifies all stages. The failure is ONS_DEFECT and names stage, micro-batch and value: of a deadlock the first stage
 * that is stuck. */
ons_status *ons_verify_stages(const ons_verify_options *options);

/* ons_verify_stages in three parts. The first checks a stage's actions, sync points and versions, and appends its
 * manifest, a pass behind the other. */
ons_status *ons_verify_stage(const ons_verify_options *options, uint32_t stage, ons_verify_bytes *manifest);
/* Checks the messages of all passes by the manifests of all stages, in their order. */
ons_status *ons_verify_manifests(uint32_t stages, const ons_verify_bytes *manifests);
/* Checks a stage's memory. */
ons_status *ons_verify_stage_memory(const ons_verify_options *options, uint32_t stage);

#endif
