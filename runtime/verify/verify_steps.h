/* What a stage does in a pass, as a flat list: shared by the two simulations of verify_*.c. */
#ifndef ONSTAGE_RUNTIME_VERIFY_VERIFY_STEPS_H
#define ONSTAGE_RUNTIME_VERIFY_VERIFY_STEPS_H

#include "base/vector.h"
#include "runtime/verify/verify_stages.h"

typedef enum ons_verify_kind {
    ONS_VERIFY_LOAD, /* data of the micro-batch */
    ONS_VERIFY_NODES,
    ONS_VERIFY_SYNC, /* by the kind `sync` */
    ONS_VERIFY_WAIT, /* until outgoing transfer `index` is gone, as often as it has been sent so far */
} ons_verify_kind;

typedef struct ons_verify_step {
    ons_verify_kind kind;
    uint32_t half;               /* which of the lineup's programs runs it */
    ons_sample_half sample_half; /* nodes: of what samples; those that halves do not compute are left out … */
    bool behind_halves;          /* … or the only ones */
    ons_sync_kind sync;
    ons_part part;
    uint32_t micro_batch;
    uint32_t first, end; /* nodes */
    uint32_t index;      /* the sync point's index; wait: the outgoing transfer */
    uint32_t copy;       /* send, wait: which of the receiver's */
    uint32_t count;      /* wait: how often this transfer has been sent to that copy so far */
} ons_verify_step;

typedef ONS_VECTOR(ons_verify_step) ons_verify_steps;

/* Lists the steps in the order of the stage's compute stream. Freed by the caller, also after a failure. */
ons_status *ons_verify_list_steps(const ons_verify_options *options, uint32_t stage, ons_verify_steps *steps);

/* Verifies that the stage's memory holds at every node what the node wants. */
ons_status *ons_verify_memory(const ons_lineup *lineup, uint32_t stage, const ons_verify_steps *steps);

/* Gives what a stage has of the pass, and what a group of the cut's is. */
ons_verify_share ons_verify_share_of(const ons_verify_options *options, uint32_t stage);
ons_device_group ons_verify_group(const ons_verify_options *options, uint32_t number);

/* Gives the programs that a stage runs in the pass. */
ons_lineup ons_verify_lineup(const ons_verify_options *options, uint32_t stage);

/* Counts the end parts of the stage that are carried out. */
uint32_t ons_verify_updates(const ons_verify_options *options, uint32_t stage);

#endif
