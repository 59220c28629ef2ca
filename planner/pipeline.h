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

const char *ons_action_name(ons_action_kind kind); /* "forward", "input gradient", … */

/* What every device computes, in its order (forward, backward, update; the rest follows from these). Communication,
 * swap and recompute are put in by whoever lowers the plan. */
typedef struct ons_action_list {
    ons_action *items;
    uint32_t count;
} ons_action_list;

/* `lists`: one for each device, in `arena`; device i holds stage i. Gradients are taken in ascending order of
 * micro-batches. */
ons_status *ons_pipeline_actions(const ons_pipeline *pipeline, ons_arena *arena, ons_action_list **lists);

/* A stage's result that a later stage reads. */
typedef struct ons_stage_edge {
    uint32_t from, to; /* stages */
    bool gradient;     /* the way back is used too */
    bool detached; /* the sender's compute goes on before the value is taken, as over connections that skip stages */
} ons_stage_edge;

/* Any schedule: what is true of it is said here, nothing is assumed. Devices may hold several stages, each stage lies
 * on one device; backward may be one action, or input and weight gradient apart, from stage to stage. */
typedef struct ons_schedule {
    uint32_t stages, micro_batches, devices;
    bool asynchronous;            /* updates come between micro-batches */
    const ons_action_list *lists; /* of each device */
    const ons_stage_edge *edges;  /* NULL: each stage feeds the next one */
    uint32_t edge_count;
} ons_schedule;

/* Whether the schedule can run:
 * - each action of a stage and micro-batch exactly once, each stage on one device; forward before its gradient, input
 *   gradient before weight gradient, gradients in ascending order of micro-batches (the order in which they are added:
 *   it decides the bits of the result); every gradient is followed by an update, and a synchronous step has one, at
 *   the stage's end;
 * - lists either name no send and receive, which then follow their action and precede their reader, or name all: a send
 *   stands for all values that leave the stage, a receive for all that come;
 * - no deadlock where no message is buffered: what is sent and received between two computations of a device is begun
 *   together, and a device goes on when all of it has met its other end.
 * The failure names the action that is wrong, or the first one that is stuck. Scratch memory comes from `arena`. */
ons_status *ons_schedule_verify(const ons_schedule *schedule, ons_arena *arena);

/* The same for a straight pipeline whose device i holds stage i. */
ons_status *ons_actions_verify(const ons_pipeline *pipeline, const ons_action_list *lists, ons_arena *arena);

#endif
