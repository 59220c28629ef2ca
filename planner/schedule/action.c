#include "planner/schedule/action.h"

static const char *const names[ONS_ACTION_COUNT] = {
    [ONS_ACTION_FORWARD] = "forward",
    [ONS_ACTION_BACKWARD] = "backward",
    [ONS_ACTION_INPUT_GRADIENT] = "input gradient",
    [ONS_ACTION_WEIGHT_GRADIENT] = "weight gradient",
    [ONS_ACTION_UPDATE] = "update",
    [ONS_ACTION_SEND_ACTIVATION] = "send activation",
    [ONS_ACTION_RECEIVE_ACTIVATION] = "receive activation",
    [ONS_ACTION_SEND_GRADIENT] = "send gradient",
    [ONS_ACTION_RECEIVE_GRADIENT] = "receive gradient",
    [ONS_ACTION_ALL_REDUCE] = "all-reduce",
    [ONS_ACTION_SWAP_OUT] = "swap out",
    [ONS_ACTION_SWAP_IN] = "swap in",
    [ONS_ACTION_RECOMPUTE] = "recompute",
};

const char *ons_action_name(ons_action_kind kind) { return names[kind]; }
