/* The time of a step from its lists alone, written apart from the planner: an action begins when its device's action
 * before has ended and what it reads is there. Links carry any number of messages at once, and buffers have no end.
 *   forward part      reads that of the stage before
 *   input gradient,   or a whole backward part, reads the forward part and the gradient of the stage behind
 *   weight gradient   reads the input gradient
 */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_LONGEST_PATH_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_LONGEST_PATH_H

#include "planner/schedule/schedule.h"

typedef struct stage_times {
    double forward, input, weight; /* a whole backward part takes the last two */
} stage_times;

typedef struct longest_path {
    bool hangs; /* the rest says nothing */
    double step;
    double *forward, *gradient, *weight; /* ends: [stage * micro-batches + micro-batch]; negative: never */
} longest_path;

/* `link` is what a message takes between devices. */
longest_path longest_path_find(const ons_schedule *schedule, const stage_times *times, double link, ons_arena *arena);

#endif
