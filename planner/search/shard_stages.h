/* Plans a pipeline of a model whose vocabularies are sharded over its devices (FlexPipe's shared stages, without their
 * collectives): the graph has each shard of an embedding and of a head as nodes of its own, and what lies on a device
 * together is a stage like all others, which sends and receives values.
 *
 *   device 0   E0 ─┐  ┌─▶ body 0 ─┐             ┌─▶ H0 ─┐            E: what shards do before the body: look up rows
 *   device 1   E1 ─┴──┘           └─▶ body 1 ───┴─▶ H1 ─┴─▶ T (1)    H: what they do behind it: logits, log sums
 *                                                                     T: what joins these: the loss; on the last device
 *
 * Shard k of K lies on device k · D / K of D. Of the nodes of a device's shards, those that hang together are early (E)
 * or late (H) together: late where one of them needs anything that is no shard's, but for nodes without weights and
 * gradients that prepare the data (a cast of the words), which are the first device's. What needs a late shard is the
 * tail (T), everything else is the body, in one interval of the file's order for each device. E is left out where there
 * is none, and so are H and T: there are up to 3 D + 1 stages.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_SHARD_STAGES_H
#define ONSTAGE_PLANNER_SEARCH_SHARD_STAGES_H

#include "planner/search/planner.h"

typedef struct ons_shard_stages {
    ons_planned planned; /* planned.problem has the pipeline, the schedule and the order that were found */
    double step_seconds; /* as simulated; infinite: nothing fits */
} ons_shard_stages;

/* Searches; everything in `arena`. Of the problem's pipeline, its stages say how many devices there are, each with one
 * stage of the body; replicas are copies of all of it, as elsewhere. Body cuts and lists of actions are found together:
 * of those whose slowest device is as fast as can be, the ones with the fastest simulated step. That nothing fits is no
 * failure: see partition.feasible.
 *
 * A number of shards that devices do not divide, and what shards cannot be planned with (lists that are asked for,
 * choices of stages, devices that differ, asynchronous schedules, halved forward parts), are ONS_INVALID_ARGUMENT;
 * parts of the graph that wait for each other across the stages above are ONS_UNSUPPORTED, with the node's name. */
ons_status *ons_shard_stages_search(const ons_planning_problem *problem, ons_arena *arena, ons_shard_stages *found);

#endif
