/* Random lists of actions that can run, and damages to them, without a line of the planner's own checks. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_LISTS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_LISTS_H

#include "planner/schedule/schedule.h"
#include "tests/rooms/planner/random_work.h"

/* A synchronous step: up to 4 devices with up to 3 stages each, in any placement; each stage's backward part whole or
 * apart. An order of all actions in which every message is taken before its sender makes the next one, whatever room
 * there is; so the lists cannot hang. loads and device_of are not made. */
ons_schedule random_lists_make(random_source *random, ons_arena *arena);

typedef enum list_damage {
    ACTION_MISSING,
    ACTION_TWICE,
    ACTION_TOO_EARLY, /* in front of what it needs of its own stage and micro-batch; an update, of the last gradient */
    PLACE_OVERRUN,    /* one more forward part before the backward part that would free its place */
    CIRCULAR_WAIT,    /* a gradient in front of a forward part that the gradient's sender waits for */
    LIST_DAMAGES,
} list_damage;

/* Damages a copy. `action` is what the damage was done to. False: the lists have no place for such a damage. */
bool random_lists_damage(random_source *random, list_damage damage, ons_arena *arena, ons_schedule *schedule,
                         ons_action *action);

/* Most micro-batches of the stage between their forward part and the end of their backward part. */
uint32_t random_lists_in_flight(const ons_action_list *list, uint32_t stage);

#endif
