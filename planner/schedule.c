#include <stdlib.h>

#include "planner/pipeline.h"

static const char *const action_names[ONS_ACTION_COUNT] = {
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

const char *ons_action_name(ons_action_kind kind) { return action_names[kind]; }

/* --------------------------------------------------------------------------------------------------------- presets */

typedef struct list_writer {
    ons_action_list list;
    uint32_t stage;
} list_writer;

static void put(list_writer *w, ons_action_kind kind, uint32_t micro_batch) {
    w->list.items[w->list.count++] = (ons_action){kind, w->stage, micro_batch};
}

/* Forward parts run ahead by `ahead` micro-batches, then forward and backward alternate until the forward parts are
 * used up. GPipe is the case in which all run ahead. */
static void put_step(list_writer *w, const ons_pipeline *p, uint32_t ahead) {
    bool each = ons_pipeline_is_asynchronous(p);
    uint32_t m = p->micro_batches, forward = 0;
    for (uint32_t backward = 0; backward < m; ++backward) {
        while (forward < m && forward <= backward + ahead) put(w, ONS_ACTION_FORWARD, forward++);
        put(w, ONS_ACTION_BACKWARD, backward);
        if (each || backward == m - 1) put(w, ONS_ACTION_UPDATE, backward);
    }
}

ons_status *ons_pipeline_actions(const ons_pipeline *p, ons_arena *arena, ons_action_list **lists) {
    ONS_CHECK(p->stages > 0 && p->micro_batches > 0, ONS_INVALID_ARGUMENT,
              "a pipeline of %u stages and %u micro-batches: both must be at least 1", p->stages, p->micro_batches);
    ONS_CHECK(p->micro_batches < UINT32_MAX / 3 && p->stages < UINT32_MAX / 3, ONS_INVALID_ARGUMENT,
              "more micro-batches than can be numbered");
    ONS_NEW(*lists, arena, p->stages);
    for (uint32_t stage = 0; stage < p->stages; ++stage) {
        list_writer w = {.stage = stage};
        ONS_NEW(w.list.items, arena, (size_t)p->micro_batches * 3);
        put_step(&w, p, p->kind == ONS_PIPELINE_GPIPE ? p->micro_batches : p->stages - stage - 1);
        (*lists)[stage] = w.list;
    }
    return NULL;
}
