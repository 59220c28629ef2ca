/* Two workers on one device compute in the order of the device's list (planner/schedule/lanes.h): each says to which
 * moment of it it has come, and waits while the other has not come beyond that. Moments ascend over the steps of a run.
 * For workers that are threads of one process, whose nodes run on the host's processors. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_TURNS_H
#define ONSTAGE_RUNTIME_PIPELINE_TURNS_H

#include "base/status.h"

typedef struct ons_turns ons_turns;

/* A worker's end of it. */
typedef struct ons_turn_end {
    ons_turns *turns;       /* NULL: the worker has its device to itself */
    uint32_t own;           /* 0 or 1 */
    const uint32_t *places; /* as ons_schedule_lanes.places has those of this worker's list */
} ons_turn_end;

ons_status *ons_turns_new(ons_turns **turns);
void ons_turns_free(ons_turns *turns); /* NULL is fine */

/* Gives the moment of an action of a step's pass; `rest`: of its second pass, of what is left of the batch. `place`:
 * in the device's list, below 2^31. */
static inline uint64_t ons_turn_moment(uint64_t step, bool rest, uint32_t place) {
    return step << 32 | (uint64_t)rest << 31 | place;
}

/* Says that all before the moment is done, and waits until the other has come beyond it. */
void ons_turns_await(const ons_turn_end *end, uint64_t moment);
/* Says so, and goes on. */
void ons_turns_reach(const ons_turn_end *end, uint64_t moment);
/* Nobody waits any more: for a run that has failed. */
void ons_turns_give_up(const ons_turn_end *end);

#endif
