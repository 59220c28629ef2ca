/* A step of a placed plan in the event simulator: computations in the order of each device's list; messages, and
 * collectives that run beside, on streams of their own.
 *
 *   compute      F ──────┐            B       a collective begins when all of its devices have come to it and their
 *   collective       ····[sum ]····           streams are free; a message occupies the sender's send stream and the
 *   send         ····[message]····            receiver's receive stream. What is sent always has room
 */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_PLACED_SIMULATION_H
#define ONSTAGE_PLANNER_SHARED_STAGES_PLACED_SIMULATION_H

#include "planner/shared_stages/placed_plan.h"
#include "planner/simulate/simulate.h"

typedef struct ons_placed_forecast {
    double seconds;             /* of a step */
    double busy_seconds;        /* computing, of the device that computes most: no step is shorter */
    double bubble_share;        /* of the step, not computing: the mean over devices */
    int64_t peak_bytes;         /* of the device that holds most */
    ons_simulation *simulation; /* owned; free with ons_simulation_free */
} ons_placed_forecast;

/* Simulates lists, once ons_placed_lists_check has nothing against them. Messages and collectives go in the order in
 * which they would begin were nobody to wait for a link; that agrees with every dependency, and all devices have the
 * same order of collectives. Scratch in `arena`; nothing is left to free on failure. */
ons_status *ons_placed_simulate(const ons_placed_plan *plan, const ons_action_list *lists, ons_arena *arena,
                                ons_placed_forecast *forecast);

#endif
