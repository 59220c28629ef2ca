/* Random lists of stages that have micro-batches and copies of their own, and what becomes of them when they are run
 * unit by unit, without a line of the planner's own checks. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_GROUPINGS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_GROUPINGS_H

#include "planner/schedule/schedule.h"
#include "tests/rooms/planner/random_work.h"

typedef struct random_groupings {
    ons_schedule s; /* device_of, loads and ticks are not made */
    ons_stage_edge *edges;
    uint32_t edge_count;
    uint32_t *first_device; /* [stage] */
} random_groupings;

/* A synchronous step of 1 to 5 stages. `line`: each stage feeds the next one alone; otherwise some stages feed some
 * later ones. `hopeful`: the order of all actions is one in which they can run if messages never wait for room;
 * otherwise each copy's parts alone are in order. */
random_groupings random_groupings_make(random_source *random, bool line, bool hopeful, ons_arena *arena);

/* Runs the lists as devices would, until nothing moves any more. False: something is left. */
bool random_groupings_run(const random_groupings *r, ons_arena *arena);

/* Most micro-batches of the copy between their forward and their backward part. */
uint32_t random_groupings_in_flight(const random_groupings *r, uint32_t stage, uint32_t copy);

#endif
