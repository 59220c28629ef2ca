/* A pipeline's schedule as partition and memory see it, and its actions as simulator and runtime do. */
#ifndef ONSTAGE_PLANNER_PIPELINE_H
#define ONSTAGE_PLANNER_PIPELINE_H

#include "base/status.h"
#include "planner/workload.h"

typedef enum ons_pipeline_kind {
    ONS_PIPELINE_GPIPE,     /* all forward parts, then all backward parts */
    ONS_PIPELINE_1F1B,      /* one forward, one backward, after a warm-up; update at the end of the step */
    ONS_PIPELINE_PIPEDREAM, /* the same without end: an update after every micro-batch, weights stashed by version */
} ons_pipeline_kind;

typedef struct ons_pipeline {
    ons_pipeline_kind kind;
    uint32_t stages;
    uint32_t micro_batches; /* of a step; PipeDream: of the stretch that is looked at */
} ons_pipeline;

/* "gpipe", "1f1b", "pipedream-async". The failure lists them. */
ons_status *ons_pipeline_parse(const char *name, ons_pipeline_kind *kind);
const char *ons_pipeline_name(ons_pipeline_kind kind);

static inline bool ons_pipeline_is_asynchronous(const ons_pipeline *p) { return p->kind == ONS_PIPELINE_PIPEDREAM; }

/* What stage `stage` (from 0) must hold. With x = stage + 1 of l stages and m micro-batches, in flight are m (GPipe),
 * min(m, l - x + 1) (1F1B), l - x + 1 (PipeDream, which needs as many versions of its weights). */
ons_stage_load ons_pipeline_load(const ons_pipeline *pipeline, uint32_t stage);

/* ----------------------------------------------------------------------------------------------------------- actions
 */

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
    uint32_t micro_batch; /* of an update: the last one that it takes in */
} ons_action;

/* What every device computes, in its order (forward, backward, update; the rest follows from these). Device i holds
 * stage i. Communication, swap and recompute are put in by whoever lowers the plan. */
typedef struct ons_action_list {
    ons_action *items;
    uint32_t count;
} ons_action_list;

/* `lists`: one for each device, in `arena`. */
ons_status *ons_pipeline_actions(const ons_pipeline *pipeline, ons_arena *arena, ons_action_list **lists);

/* Whether the lists can run: each (stage, micro-batch, action) exactly once, forward before backward, and no deadlock
 * where no message is buffered (a send waits for its receive). The failure names the first action that is stuck. */
ons_status *ons_actions_verify(const ons_pipeline *pipeline, const ons_action_list *lists, ons_arena *arena);

#endif
