/* How many samples a stage must have in flight (forward parts whose backward parts have not run) so that the stages
 * behind it never wait for it: GraphPipe, Appendix A.1, Table 2. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_IN_FLIGHT_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_IN_FLIGHT_H

#include <stdint.h>

/* A stage takes `samples` in a micro-batch, and in turn runs the forward parts of `turns` micro-batches and the
 * backward parts of as many: b and k of the paper's kFkB. */
typedef struct ons_stage_pace {
    int64_t samples;
    uint32_t turns;
} ons_stage_pace;

/* Gives the samples in flight of a stage whose results a stage of pace `next` with `next_in_flight` samples in flight
 * reads. A stage with several such readers has the most of what they ask for. */
int64_t ons_in_flight_before(ons_stage_pace own, ons_stage_pace next, int64_t next_in_flight);

/* Gives the samples in flight of a stage that nobody reads. */
static inline int64_t ons_in_flight_last(ons_stage_pace own) { return own.turns * own.samples; }

#endif
