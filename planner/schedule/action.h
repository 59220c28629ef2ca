/* What a device does in a step, one after another: each action names a stage, a copy of it, and a micro-batch, which is
 * a range of the batch's samples (runtime/data/portions.h). */
#ifndef ONSTAGE_PLANNER_SCHEDULE_ACTION_H
#define ONSTAGE_PLANNER_SCHEDULE_ACTION_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ons_action_kind {
    ONS_ACTION_FORWARD,
    ONS_ACTION_BACKWARD,       /* input and weight gradients in one */
    ONS_ACTION_INPUT_GRADIENT, /* the two apart */
    ONS_ACTION_WEIGHT_GRADIENT,
    ONS_ACTION_UPDATE,
    ONS_ACTION_SEND_ACTIVATION,
    ONS_ACTION_RECEIVE_ACTIVATION,
    ONS_ACTION_SEND_GRADIENT,
    ONS_ACTION_RECEIVE_GRADIENT,
    ONS_ACTION_ALL_REDUCE,
    ONS_ACTION_SWAP_OUT,
    ONS_ACTION_SWAP_IN,
    ONS_ACTION_RECOMPUTE,
    ONS_ACTION_COUNT,
} ons_action_kind;

typedef struct ons_action {
    ons_action_kind kind;
    uint32_t stage;
    uint32_t copy;        /* of the stage; a stage has one, number 0 */
    uint32_t micro_batch; /* of an update: the last one that it takes in */
    bool halved; /* a forward part in two halves of its samples, one right behind the other: what the first has made
                    leaves at once where the next stage's is halved, too, else with the second's. Both save into the
                    place of one micro-batch, for a whole backward part */
} ons_action;

const char *ons_action_name(ons_action_kind kind); /* "forward", "input gradient", … */

/* What one device computes, in its order (forward, backward, update; the rest follows from these). Communication, swap
 * and recompute are put in by whoever lowers the plan. */
typedef struct ons_action_list {
    ons_action *items;
    uint32_t count;
} ons_action_list;

#endif
